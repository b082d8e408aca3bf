"""How `nearest_places` is computed."""
