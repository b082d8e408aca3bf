"""Which strategies of `spmv` are picked without being named."""

PREFERENCE = {
    "cpu": ("vectors", "balanced", "tiles", "blocks", "private", "threads", "loops"),
    "gpu": (
        "csr_threads",
        "csr_teams",
        "csr_merge",
        "coo_segments",
        "ell",
        "hybrid",
        "jds_t",
        "jds",
        "dia",
        "bsr",
        "csc",
    ),
}
"""The fastest first; each takes one format, or says itself which problems it pays for."""
