"""How `equalize` is computed."""
