"""How `argreduce` is computed."""
