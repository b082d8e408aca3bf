"""A batch of bytes."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from rooftile.ops import Array, Problem


@dataclass(frozen=True)
class Lookup(Problem):
    """Each byte of each row replaced by the table's."""

    operation: ClassVar[str] = "lookup"

    batch: int
    width: int

    @property
    def arrays(self):
        shape = self.batch, self.width
        return (
            Array("x", shape, "uint8", batched=True),
            Array("table", (256,), "uint8", "parameter"),
            Array("out", shape, "uint8", "output", batched=True),
        )

    @property
    def flops(self):
        return self.batch * self.width

    def with_batch(self, batch):
        return dataclasses.replace(self, batch=batch)

    def reference(self, x, table):
        return table[x]


NAMED = {"some": (lambda batch: Lookup(batch, 300), 6)}
