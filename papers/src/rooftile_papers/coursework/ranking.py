"""The best of all submissions in the history: who passes every data set, in the least time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rooftile.lab.measure.history.store import Record
from rooftile_papers.coursework.grading import COMMAND


@dataclass(frozen=True)
class Place:
    """One who submitted, with the best submission."""

    name: str
    total_ms: float
    """The medians of all data sets together."""
    submissions: int
    device: str
    time: str


def ranking(records: Sequence[Record], lab: str) -> list[Place]:
    """The fastest first, of records of `COMMAND`; a submission that failed any data set has no
    place."""
    runs: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.command == COMMAND and record.environment.get("lab") == lab:
            runs.setdefault((record.run, record.strategy), []).append(record)
    found: dict[tuple[str, str], list[Place]] = {}
    most = max((len(of_run) for of_run in runs.values()), default=0)
    for (_, name), of_run in runs.items():
        medians = [one.median_ms for one in of_run if one.median_ms is not None]
        one = of_run[0]
        submissions = found.setdefault((name, one.device), [])
        # Who was graded on fewer data sets than others is not compared with them.
        total = sum(medians) if len(medians) == most else float("inf")
        submissions.append(Place(name, total, 0, one.device, one.time))
    best = [
        Place(first.name, first.total_ms, len(all_of_them), first.device, first.time)
        for all_of_them in found.values()
        if (first := min(all_of_them, key=lambda place: place.total_ms)).total_ms < float("inf")
    ]
    return sorted(best, key=lambda place: place.total_ms)
