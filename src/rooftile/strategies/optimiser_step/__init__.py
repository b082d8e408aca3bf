"""How `optimiser_step` is computed."""
