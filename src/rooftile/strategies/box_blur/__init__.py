"""How `box_blur` is computed."""
