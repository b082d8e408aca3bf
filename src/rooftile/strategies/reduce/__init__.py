"""How `reduce` is computed."""
