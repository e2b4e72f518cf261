"""Task graphs by enumeration and as models."""
