"""How rungs of `conv2d` are told of ghost cells."""

BOUNDARY_CODES = {"zero": 0, "replicate": 1, "interior": 2}
