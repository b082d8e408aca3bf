"""How `segmented_reduce` is computed."""
