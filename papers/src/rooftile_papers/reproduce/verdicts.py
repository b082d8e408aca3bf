"""The rules that make a verdict of a published and a measured number."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rooftile_papers.reproduce.experiment import Ruling
from rooftile_papers.reproduce.figures import Figure, Table

SAME = 0.10
"""Two numbers are the same where they differ by at most this share."""
ALIKE = 0.25
"""Two ratios are alike where they differ by at most this share."""


def by_ratio(table: Table, ours: Mapping[str, float]) -> list[Ruling]:
    """Each number as it is, and in ratio to the geometric mean of those that both have.

    On another machine than the document's no number need hold; what it says of the variants does.
    """
    shared = [figure for figure in table.figures if figure.key in ours]
    if not shared:
        return []
    theirs_mean = _mean([figure.value for figure in shared])
    ours_mean = _mean([ours[figure.key] for figure in shared])
    rulings = []
    for figure in shared:
        mine = ours[figure.key]
        there, here = figure.value / theirs_mean, mine / ours_mean
        said = f"{there:.3g} times the mean of its table there, {here:.3g} times here"
        if _near(figure.value, mine, SAME):
            rulings.append(Ruling(figure, "holds", _percent(figure.value, mine), mine))
        elif len(shared) > 1 and _near(there, here, ALIKE):
            rulings.append(Ruling(figure, "holds in ratio", said, mine))
        else:
            rulings.append(Ruling(figure, "differs here", said, mine))
    return rulings


def by_value(figure: Figure, ours: float, otherwise: str, *, same: float = SAME) -> Ruling:
    """The verdict on a number that does not depend on the machine: right, or it cannot be."""
    if _near(figure.value, ours, same):
        return Ruling(figure, "holds", _percent(figure.value, ours), ours)
    return Ruling(figure, "cannot be", otherwise, ours)


def by_size(figure: Figure, ours: float) -> Ruling:
    """The verdict on a time or rate of another machine: the same size as ours, or not."""
    if _near(figure.value, ours, SAME):
        return Ruling(figure, "holds", _percent(figure.value, ours), ours)
    said = f"{ours / figure.value:.3g} times the published number on this machine"
    return Ruling(figure, "differs here", said, ours)


def _near(a: float, b: float, share: float) -> bool:
    return abs(a - b) <= share * max(abs(a), abs(b))


def _percent(theirs: float, ours: float) -> str:
    if theirs == ours:
        return "the same number"
    return f"ours is {100 * (ours / theirs - 1):+.1f} % off"


def _mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
