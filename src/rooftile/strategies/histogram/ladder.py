"""Which strategies of `histogram` are picked without being named."""

PREFERENCE = {"cpu": ("tables", "loops"), "gpu": ("lanes", "privatised", "hot", "strided")}
"""The fastest first; each says itself which problems it takes."""
