"""What is told of times on a GPU, and whether it may be true."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.process.child import Died
from rooftile.lab.audit.process.session import Run, Session
from rooftile.lab.measure.records import KernelResources
from rooftile.runtime.timing.device import SLACK_S, contradiction

_CLOCKS, _LEAST_S, _MOST_TOLD = 3, 1e-9, 2**31
"""Numbers that are told of a text's launches, the least time and the most of anything that are
believed."""
_TIMES_COLDER, _COLDER_S = 20.0, 1e-4
"""A launch that finds nothing in the last-level cache takes at most so many times as long, and so
many seconds more: its bytes come from memory then, and its instructions."""
_EVENT_SLACK_S = 2e-3
"""Seconds of the judge's time that a GPU's events may miss, while the answer is on its way."""


def told_seconds(run: Run) -> float:
    """The device's time of launches.  Raises `Died` for one that cannot be."""
    seconds = run.told.numbers[0] if len(run.told.numbers) == _CLOCKS else math.nan
    if not _LEAST_S < seconds < run.wall_s:
        raise Died(f"told a time of {seconds:.3g} s, where the judge saw {run.wall_s:.3g} s")
    return seconds


def check_clocks(session: Session, findings: Findings, runs: Sequence[Run]) -> None:
    """Compare what a GPU's events said with the judge's clock; of a text, with the host's clock in
    the process that launches it."""
    if session.device_clock:
        told = [(run.told.numbers[1], run.told.numbers[2]) for run in runs]
        if against := contradiction(told, SLACK_S):
            findings.failed("on_time", against)
        return
    events = ("the driver's events", "the library's")
    for i, what in enumerate(events) if session.kernel.kind == "cuda" else ():
        pairs = [
            (run.told.numbers[i] if len(run.told.numbers) > i else 0.0, run.wall_s) for run in runs
        ]
        if against := contradiction(pairs, _EVENT_SLACK_S):
            findings.failed("timers", f"by {what} {against}")


def check_warm(findings: Findings, warm_s: float, cold_s: float) -> None:
    """Warm launches that take next to nothing of the time of cold ones do not do the work."""
    if cold_s > _TIMES_COLDER * warm_s and cold_s - warm_s > _COLDER_S:
        findings.failed(
            "cache",
            f"{1e3 * warm_s:.3g} ms a launch, and {1e3 * cold_s:.3g} ms where nothing is in the "
            "device's cache: warm launches do not do the work",
        )


def resources(told: Sequence[float]) -> KernelResources:
    """What a compiler says of a text's kernel; what is not known was told as NaN."""
    if len(told) != len(dataclasses.fields(KernelResources)):
        return KernelResources()
    *counts, occupancy = (number if 0 <= number < _MOST_TOLD else None for number in told)
    registers, shared, spilled = (None if one is None else int(one) for one in counts)
    return KernelResources(registers, shared, spilled, occupancy)
