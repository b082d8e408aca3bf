"""Rungs that gather the operands of a matrix product from a tile of the image."""
