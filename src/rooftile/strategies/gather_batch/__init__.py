"""How `gather_batch` is computed."""
