"""How `partition` is computed."""
