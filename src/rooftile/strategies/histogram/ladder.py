"""The ladder of `histogram`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "tables"),
    "gpu": (
        "contiguous", "strided", "aggregated", "replicated", "privatised", "partial", "hot",
        "matched", "lanes",
    ),
}  # fmt: skip

PREFERENCE = {"cpu": ("tables", "loops"), "gpu": ("lanes", "privatised", "hot", "strided")}

COSTS = {
    "cpu": {
        "tables": {
            "float32": Costs(7.87, 1, 0.0284, 1870, 1.68e+07),
            "integers": Costs(0.392, 1, 0.0439, 9180, 1.32e+07),
        },
        "loops": {
            "float32": Costs(0.503, 1, 0.0342, 1, 1.68e+07),
            "integers": Costs(0.127, 0.000971, 0.0498, 1, 1.32e+07),
        },
    },
}  # fmt: skip
