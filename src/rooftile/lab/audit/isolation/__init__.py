"""Isolation of a foreign process: things that it must not see or do, and its end."""
