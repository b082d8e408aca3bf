"""Strategies of `optimiser_step`."""
