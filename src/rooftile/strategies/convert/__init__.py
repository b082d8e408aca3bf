"""Strategies of `convert`."""
