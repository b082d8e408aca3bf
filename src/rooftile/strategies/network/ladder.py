"""The ladder of `network`, and which strategies are picked unnamed."""

LADDER = {
    "gpu": ("front_fp16", "front_bf16"),
}

PREFERENCE = {"gpu": ("front_fp16", "front_bf16")}
