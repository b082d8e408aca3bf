"""Which strategies of `spmm` are picked without being named."""

PREFERENCE = {"cpu": ("vectors", "threads", "loops"), "gpu": ("staged", "naive")}
