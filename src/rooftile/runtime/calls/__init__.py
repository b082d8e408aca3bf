"""Checked calls: their run on the host and on a GPU, and their repetition."""
