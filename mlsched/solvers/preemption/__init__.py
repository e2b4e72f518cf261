"""Victim selection by enumeration; its models are registered where they are built."""
