"""Strategies of `bias_activation`."""
