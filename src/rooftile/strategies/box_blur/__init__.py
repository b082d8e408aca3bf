"""Strategies of `box_blur`."""
