"""Strategies of `mlp_training`."""
