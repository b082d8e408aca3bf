"""How `pool2d_winners` is computed."""
