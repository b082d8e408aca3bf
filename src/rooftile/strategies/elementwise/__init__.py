"""Strategies of `elementwise`."""
