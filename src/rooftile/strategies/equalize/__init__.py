"""Strategies of `equalize`."""
