"""Strategies of `standardise`."""
