"""How many bytes of each row agree with the row's number in their last three bits?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rooftile.ops.checks import check_positive
from rooftile.ops.problem import Array, Problem


@dataclass(frozen=True)
class Agreeing(Problem):
    """``counts[r]`` of the bytes in ``rows[r]``."""

    operation: ClassVar[str] = "made_up"
    words: ClassVar[str] = "{height} rows of {width} bytes"
    height: int
    width: int

    def __post_init__(self) -> None:
        check_positive(height=self.height, width=self.width)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """See `Problem.arrays`."""
        return (
            Array("rows", (self.height, self.width), "uint8"),
            Array("numbers", (self.height,), "int32"),
            Array("counts", (self.height,), "int64", role="output"),
        )

    @property
    def flops(self) -> int:
        """A comparison and an addition for each byte."""
        return 2 * self.height * self.width

    def reference(self, *arrays: Any) -> Any:
        """See `Problem.reference`."""
        rows, numbers = arrays
        return ((rows & 7) == (numbers & 7)[:, None]).sum(axis=1, dtype=np.int64)


NAMED = {"few": Agreeing(500, 64), "many": Agreeing(100_000, 256)}
