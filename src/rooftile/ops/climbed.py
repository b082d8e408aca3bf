"""The named problem that stands for an operation by default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Climbed:
    """Named problems that are climbed together.

    There are several where each strategy takes one form of the same data, as the formats of one
    sparse matrix are.
    """

    shapes: tuple[str, ...]
    """Names; all of them are problems of the same data and the same FLOPs."""
    batch: int | None = None
    """None stands for the named problem's own."""

    @classmethod
    def of(cls, *shapes: str, batch: int | None = None) -> Climbed:
        """Problems by their names."""
        return cls(shapes, batch)


NONE = Climbed(())
"""No problem."""
