"""How `sort` is computed."""
