"""Several forms of one problem, of which each rung takes some: the rungs of each, and one ladder.

The formats of a sparse matrix are such forms: their FLOPs are the same, their bytes are not, so
that each row has the roof of its own form.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rooftile.lab.measure.records import Ladder, Row, median
from rooftile.ops import parse
from rooftile.strategies import ladder, strategy


def rungs_of(
    operation: str, shapes: Sequence[str], batch: int | None, kind: str, only: str | None = None
) -> dict[str, tuple[str, ...]]:
    """The rungs that are climbed at each shape: each at the first one that it takes.

    A rung that takes none of them is climbed at the first, where its row says why.  Shapes without
    a rung are left out.  ``only`` is the one rung that is climbed.  Raises `InputError`.
    """
    problems = {shape: parse(operation, shape, batch) for shape in shapes}
    found: dict[str, list[str]] = {shape: [] for shape in shapes}
    for rung in ladder(operation, kind) if only is None else (strategy(operation, only, kind),):
        taken = (shape for shape, one in problems.items() if rung.why_not(one) is None)
        found[next(taken, shapes[0])].append(rung.name)
    return {shape: tuple(names) for shape, names in found.items() if names}


def joined(ladders: Sequence[Ladder]) -> Ladder:
    """One ladder with the rows of all, in the order of the operation's rungs, then the peers.

    Its problem is the first one's.
    """
    first = ladders[0]
    if len(ladders) == 1:
        return first
    rows = [row for one in ladders for row in one.rows]
    kind = first.device.partition(":")[0]
    order = {rung.name: place for place, rung in enumerate(ladder(first.problem.operation, kind))}
    strategies = [row for row in rows if row.kind == "strategy"]
    strategies.sort(key=lambda row: order.get(row.strategy, len(order)))
    peers = _peers([row for row in rows if row.kind == "peer"])
    interrupted = any(one.interrupted for one in ladders)
    return dataclasses.replace(first, rows=(*strategies, *peers), interrupted=interrupted)


def _peers(rows: Sequence[Row]) -> list[Row]:
    """Each peer once: its fastest row, or the first where it has no time."""
    kept: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.strategy, row.precision
        other = kept.get(key)
        if other is None or median(row) < median(other):
            kept[key] = row
    return list(kept.values())
