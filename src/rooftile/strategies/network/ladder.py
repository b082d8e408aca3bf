"""Which strategies of `network` are picked without being named."""

PREFERENCE = {"gpu": ("front_fp16", "front_bf16")}
"""The fastest first, by measurements; each says itself which problems it pays for."""
