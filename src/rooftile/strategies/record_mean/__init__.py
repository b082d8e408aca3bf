"""How `record_mean` is computed."""
