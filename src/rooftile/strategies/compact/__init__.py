"""How `compact` is computed."""
