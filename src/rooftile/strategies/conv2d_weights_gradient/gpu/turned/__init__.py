"""Rungs of `conv2d_weights_gradient` for few maps: pixels are a product's rows."""
