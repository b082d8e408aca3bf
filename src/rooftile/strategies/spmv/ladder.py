"""The ladder of `spmv`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": ("loops", "threads", "tiles", "blocks", "private", "balanced", "vectors"),
    "gpu": (
        "csr_threads", "csr_teams", "csr_merge", "coo_atomic", "coo_segments", "ell", "hybrid",
        "jds", "jds_t", "dia", "bsr", "csc",
    ),
}  # fmt: skip

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
