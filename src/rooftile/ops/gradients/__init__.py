"""Gradients, losses and training steps."""
