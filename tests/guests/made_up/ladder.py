"""Which strategies are picked without being named, the fastest first."""

PREFERENCE = {"cpu": ("loops",), "gpu": ("rows",)}
