"""How `permute_columns` is computed."""
