"""Training on a GPU: a step is a fixed list of launches on memory that stays there."""
