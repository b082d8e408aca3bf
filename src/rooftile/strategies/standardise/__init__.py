"""How `standardise` is computed."""
