"""The CPU's ladder of `nearest_places`."""
