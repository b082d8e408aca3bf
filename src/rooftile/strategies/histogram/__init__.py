"""How `histogram` is computed."""
