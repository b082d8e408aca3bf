"""The ladder of `network`, and which strategies are picked unnamed."""

LADDER = {
    "gpu": ("front_fp16", "front_bf16"),
}
"""Every strategy, in the order in which a reader should meet them."""

PREFERENCE = {"gpu": ("front_fp16", "front_bf16")}
"""The fastest first, by measurements; each says itself which problems it pays for."""
