"""The GPUs' ladder of `mlp_training`."""
