"""How `unique` is computed."""
