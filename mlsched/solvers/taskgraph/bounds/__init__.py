"""What tightens bounds of task graphs by solving something small."""
