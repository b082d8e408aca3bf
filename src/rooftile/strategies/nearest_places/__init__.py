"""Strategies of `nearest_places`."""
