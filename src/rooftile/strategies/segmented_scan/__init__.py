"""How `segmented_scan` is computed."""
