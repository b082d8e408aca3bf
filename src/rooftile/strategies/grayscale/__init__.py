"""How `grayscale` is computed."""
