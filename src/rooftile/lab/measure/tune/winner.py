"""The config that wins a tuning: one that is faster than the default beyond doubt, or the
default."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rooftile.errors import InputError
from rooftile.lab.measure.history.compare import Comparison, paired
from rooftile.lab.measure.records import Row

_EFFECT = 0.01
"""A winner is faster than the default by at least this share."""


@dataclass(frozen=True)
class Crowned:
    """The outcome of a tuning, on fresh inputs."""

    winner: Row
    default: Row
    against_default: Comparison | None
    """None where the default is the winner itself, or did not pass."""
    against_pick: Comparison | None
    """Against the strategy that is chosen so far; None where that is this one."""

    @property
    def preferred(self) -> bool:
        """True if the strategy is to be chosen from now on."""
        return self.against_pick is not None and self.against_pick.outcome == "faster"


def crowned(own: Sequence[Row], pick: Row | None) -> Crowned:
    """The winner among a strategy's rows, the first of which is its default's.

    ``pick`` is the row of the strategy that is chosen so far; None where that is this one.  All
    were timed in turns.  Raises `InputError` where none of the strategy's rows passed.
    """
    default = own[0]
    passed = [row for row in own if row.time_ms is not None]
    if not passed:
        raise InputError("config", "none that passes again", f"one that does ({default.reason})")
    winner = min(passed, key=lambda row: row.time_ms.median if row.time_ms else math.inf)
    against_default = _compared(default, winner) if winner is not default else None
    if against_default is not None and against_default.outcome != "faster":
        winner, against_default = default, None
    return Crowned(winner, default, against_default, _compared(pick, winner) if pick else None)


def _compared(a: Row, b: Row) -> Comparison | None:
    """The comparison of B with A, timed in turns; None where one of them did not pass."""
    if a.time_ms is None or b.time_ms is None:
        return None
    return paired(a.time_ms.samples, b.time_ms.samples, effect=_EFFECT)
