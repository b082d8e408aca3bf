"""Several outputs, of which one is a single number, and a parameter that is one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rooftile.ops import Array, Problem


@dataclass(frozen=True)
class Sift(Problem):
    """The values that are wanted, which of them are positive, and how many there are."""

    operation: ClassVar[str] = "sift"

    count: int

    @property
    def arrays(self):
        return (
            Array("values", (self.count,), "bfloat16"),
            Array("wanted", (self.count,), "bool"),
            Array("before", (), "int32", "parameter"),
            Array("kept", (self.count,), "float16", "output"),
            Array("positive", (self.count,), "bool", "output"),
            Array("number", (), "int64", "output"),
        )

    @property
    def flops(self):
        return 2 * self.count

    def reference(self, values, wanted, before):
        kept = np.where(wanted, values.astype(np.float64), 0.0)
        return kept, kept > 0, before + wanted.sum()


NAMED = {"some": Sift(900)}
