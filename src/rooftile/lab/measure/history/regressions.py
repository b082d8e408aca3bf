"""Strategies that became faster or slower between two revisions, runs or record files.

Records of the same strategy on the same problem, hardware and kind of device are compared; for
tunings the config must be the same too. Where both sides have enough runs, the samples are the
runs' medians, so that the interval includes changes from run to run; else they are the samples of
the newest run of each side (Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM
2013).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rooftile.errors import InputError
from rooftile.lab.measure.history.compare import Comparison, check_question, least_samples, unpaired
from rooftile.lab.measure.history.store import History, Record

Key = tuple[object, ...]


@dataclass(frozen=True)
class Change:
    """One rung on one problem, before and after."""

    before: Record
    """The newest record of the side before."""
    after: Record
    runs: tuple[int, int]
    """Numbers of compared runs of each side."""
    comparison: Comparison | None
    """None where one of them did not pass."""

    @property
    def outcome(self) -> str:
        """The comparison's, or ``same record``, ``broken``, ``mended``, ``not timed``."""
        if self.before == self.after:
            return "same record"
        if self.comparison is not None:
            return self.comparison.outcome
        if self.before.status == "passed":
            return "broken" if self.after.status in ("failed", "error") else "not timed"
        return "mended" if self.after.status == "passed" else "not timed"

    @property
    def regression(self) -> bool:
        """True if it became slower."""
        return self.outcome in ("slower", "broken")


def side(name: str, history: History) -> list[Record]:
    """The records that a name stands for: a file that ``rooftile history --json`` wrote, a run or a
    revision (or the beginning of one).  Raises `InputError` where it stands for none."""
    if Path(name).is_file():
        return _from_file(Path(name))
    found = history.records(run=name) or history.records(revision=name)
    # The last round of a tuning is one of several looks at the same config.
    found = [record for record in found if record.command != "final"]
    if not name or not found:
        raise InputError(
            "what to compare",
            repr(name),
            f"a file of records, or the beginning of a run or a revision in {history.path}",
        )
    return found


def changes(
    before: Sequence[Record],
    after: Sequence[Record],
    *,
    effect: float = 0.03,
    level: float = 0.05,
) -> tuple[Change, ...]:
    """Compare what both sides have.  ``level`` holds for each verdict, not for all together.

    Raises `InputError` where they have nothing in common, or for an impossible effect or level.
    """
    check_question(effect, level)
    first, second = _grouped(before), _grouped(after)
    common = [key for key in first if key in second]
    if not common:
        raise InputError(
            "what to compare",
            "records with nothing in common",
            "the same strategy on the same problem, batch, hardware and kind of device in both",
        )
    return tuple(_change(first[key], second[key], effect, level) for key in common)


def _change(a: list[Record], b: list[Record], effect: float, level: float) -> Change:
    if a[-1].status != "passed" or b[-1].status != "passed":
        return Change(a[-1], b[-1], (1, 1), None)
    passed = [[one for one in records if one.status == "passed"] for records in (a, b)]
    enough = least_samples(1 - math.sqrt(1 - level))
    if min(map(len, passed)) >= enough:
        times = [[one.median_ms or math.nan for one in records] for records in passed]
        runs = len(passed[0]), len(passed[1])
    else:
        times, runs = [list(records[-1].samples) for records in passed], (1, 1)
    return Change(a[-1], b[-1], runs, unpaired(*times, effect=effect, level=level))


def _grouped(records: Sequence[Record]) -> dict[Key, list[Record]]:
    """The records of each key, the oldest first."""
    found: dict[Key, list[Record]] = {}
    for record in sorted(records, key=lambda one: one.time):
        found.setdefault(_key(record), []).append(record)
    return found


def _key(record: Record) -> Key:
    # A climb takes the strategy's own config, whatever that is at the revision.
    config = record.config if record.command == "tune" else None
    return (
        json.dumps(dict(record.problem), sort_keys=True),
        record.batch,
        record.hardware,
        record.device.partition(":")[0],
        record.kind,
        record.strategy,
        record.precision,
        record.command == "tune",
        json.dumps(config, sort_keys=True),
    )


def _from_file(path: Path) -> list[Record]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return [Record.from_json(one) for one in found["records"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"{path} (no {error})" if type(error) is KeyError else f"{path} ({error})"
        raise InputError("record file", what, "what rooftile history --json wrote") from None
