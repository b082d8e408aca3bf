"""The ladder of `mlp_training`, and which strategies are picked unnamed."""

LADDER = {
    "cpu": (
        "loops", "unrolled_2", "unrolled_4", "unrolled_8", "threads_2", "threads_4", "threads_8",
        "threads_16", "registers", "vectors", "pipelined",
    ),
    "gpu": ("one_block",),
}  # fmt: skip

PREFERENCE = {"cpu": ("pipelined", "registers", "loops"), "gpu": ("one_block",)}
