"""Measured times to compare with the prediction: the history's newest, or a record's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rooftile.devices.select import parse_device
from rooftile.errors import InputError
from rooftile.lab.measure.history import store as history
from rooftile.lab.measure.records import problem_json
from rooftile.ops import Problem

_COMMANDS = ("climb", "final")
"""The commands that record a strategy as calls use it: a climb, and the last round of a tuning."""


@dataclass(frozen=True)
class Measured:
    """One strategy's time on one problem."""

    median_ms: float
    cold_ms: float | None
    """The time on a GPU with nothing in the last-level cache."""
    hardware: str
    source: str
    config: Mapping[str, Any]
    occupancy: float | None = None
    """The occupancy of the most demanding kernel, as the driver tells it."""


def latest(problem: Problem, device: str, strategy: str) -> Measured | None:
    """The newest time in the user's history, on any device of the kind; None without one.

    A config that a tuning only tried does not count, nor a kernel of others that has the name.
    """
    kind, _ = parse_device(device)
    asked: dict[str, Any] = {"problem": problem, "device": kind, "strategy": strategy}
    found = [
        record
        for command in _COMMANDS
        for record in history.records(**asked, status="passed", command=command, last=1)
    ]
    if not found:
        return None
    record = max(found, key=lambda one: one.id)
    return _of_row(record.row, record.hardware, f"history, {record.command} of {record.time[:16]}")


def of_record(path: Path, problem: Problem, strategy: str) -> Measured:
    """The time in what ``rooftile climb --json`` printed.

    Raises `InputError` for a file that is no such record, is of another problem, or lacks the time.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rows, recorded = found["rows"], found["problem"]
        hardware = found["environment"].get("device", {}).get("name", found["device"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError("record", str(path), f"what climb --json prints ({error})") from None
    if recorded != json.loads(json.dumps(problem_json(problem))):
        raise InputError("record", str(path), f"a record of {problem}")
    for row in rows:
        if row["strategy"] == strategy and row["kind"] == "strategy" and row["time_ms"]:
            return _of_row(row, hardware, path.name)
    raise InputError("record", str(path), f"a time of {strategy!r}")


def _of_row(row: Mapping[str, Any], hardware: str, source: str) -> Measured:
    cold = row.get("cold_ms")
    return Measured(
        median_ms=row["time_ms"]["median"],
        cold_ms=cold["median"] if cold else None,
        hardware=hardware,
        source=source,
        config=row.get("config") or {},
        occupancy=(row.get("resources") or {}).get("occupancy"),
    )
