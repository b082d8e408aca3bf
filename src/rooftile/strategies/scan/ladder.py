"""The ladder of `scan`, and which strategies are picked unnamed."""

from rooftile.strategies.contract.costs import Costs

LADDER = {
    "cpu": ("loops", "two_pass", "columns", "vectors"),
    "gpu": (
        "sequential", "kogge_stone", "kogge_stone_double", "brent_kung", "three_phase",
        "hierarchical", "recursive", "sums_first", "columns", "rows", "look_back", "waves",
    ),
}  # fmt: skip

PREFERENCE = {
    "cpu": ("vectors", "columns", "two_pass", "loops"),
    "gpu": ("rows", "waves", "look_back", "columns", "sums_first", "sequential"),
}

COSTS = {
    "cpu": {
        "vectors": {
            "float32": Costs(5.08, 0.0115, 1, 13.8, 2.71e+07),
            "float32 beside": Costs(15.6, 1, 0.779, 237, 8.85e+06),
        },
        "columns": {
            "16-bit beside": Costs(4.92, 1, 0.444, 429, 1.13e+06),
            "float32 beside": Costs(1.41, 1, 0.588, 551, 8.85e+06),
            "float64 beside": Costs(3.18, 1, 1.17, 2800, 1.46e+06),
            "integers beside": Costs(3.83, 0.0183, 0.626, 0.779, 1.02e+07),
        },
        "two_pass": {
            "16-bit": Costs(10.4, 0.000756, 1, 6.13, 1.81e+07),
            "16-bit beside": Costs(3.08, 0.000405, 1, 5.58, 1.13e+06),
            "float32": Costs(1.45, 1, 0.0564, 63.8, 2.71e+07),
            "float32 beside": Costs(1, 1, 0.0353, 31.1, 8.85e+06),
            "float64": Costs(0.0098, 1, 0.158, 0.153, 1.5e+06),
            "float64 beside": Costs(25, 1, 0.357, 131, 1.46e+06),
            "integers": Costs(4.48, 0.00717, 1, 48.2, 2.1e+07),
            "integers beside": Costs(3.49, 0.00281, 0.0821, 49.7, 1.02e+07),
        },
        "loops": {
            "16-bit": Costs(3.72, 0.00212, 0.0439, 0.053, 1.81e+07),
            "16-bit beside": Costs(4.48, 0.0017, 1, 0.0208, 1.13e+06),
            "float32": Costs(2.25, 1, 0.135, 4.21, 2.71e+07),
            "float32 beside": Costs(1.24, 1, 0.116, 4.48, 8.85e+06),
            "float64": Costs(0.00409, 1, 0.519, 0.0302, 1.5e+06),
            "float64 beside": Costs(13.8, 1, 0.709, 31.1, 1.46e+06),
            "integers": Costs(3.08, 0.0143, 1, 1.06, 2.1e+07),
            "integers beside": Costs(0.519, 0.0074, 0.245, 1.37, 1.02e+07),
        },
    },
}  # fmt: skip
