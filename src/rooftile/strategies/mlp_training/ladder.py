"""Which strategies of `mlp_training` are picked without being named."""

PREFERENCE = {"cpu": ("pipelined", "registers", "loops")}
"""The fastest first; each says itself which problems it takes."""
