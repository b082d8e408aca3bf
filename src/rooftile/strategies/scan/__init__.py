"""How `scan` is computed."""
