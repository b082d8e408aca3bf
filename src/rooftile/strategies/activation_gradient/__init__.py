"""Strategies of `activation_gradient`."""
