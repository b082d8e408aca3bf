"""How `most_likely` is computed."""
