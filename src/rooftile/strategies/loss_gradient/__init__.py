"""Strategies of `loss_gradient`."""
