"""Two inputs of different dtypes, no batch, one output of integers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rooftile.ops import Array, Problem


@dataclass(frozen=True)
class Tally(Problem):
    """totals[k] is the sum of the amounts whose key is k."""

    operation: ClassVar[str] = "tally"

    count: int
    bins: int

    @property
    def arrays(self):
        return (
            Array("keys", (self.count,), "uint8"),
            Array("amounts", (self.count,), "int32"),
            Array("totals", (self.bins,), "int64", "output"),
        )

    @property
    def flops(self):
        return self.count

    def random(self, seed):
        generator = np.random.default_rng(seed)
        keys = generator.integers(0, self.bins, self.count, np.uint8)
        return keys, generator.integers(-(2**30), 2**30, self.count, np.int32)

    def reference(self, keys, amounts):
        totals = np.zeros(self.bins, np.int64)
        np.add.at(totals, keys, amounts)
        return totals


NAMED = {"some": Tally(1200, 40)}
