"""The CPU's ladder of `mlp_training`."""
