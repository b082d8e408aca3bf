"""Which strategies of `mlp_training` are picked without being named."""

PREFERENCE = {"cpu": ("pipelined", "registers", "loops"), "gpu": ("one_block",)}
"""The fastest first; each says itself which problems it takes."""
