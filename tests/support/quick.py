"""For tests whose subject is no time: few samples, fixed ceilings, contests in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rooftile.lab.measure.ceilings.cpu import Ceilings

_SAMPLES = {
    "rooftile.runtime.timing.host.MOST": 3,
    "rooftile.runtime.timing.host.PAUSE_S": 0,
    "rooftile.runtime.timing.host.MOST_FLUSHED": 8,
    "rooftile.runtime.timing.device.MOST_SAMPLES": 3,
    "rooftile.runtime.timing.device.WARM_UP_S": 0,
}
_SAMPLES_OF_AUDITS = {
    "rooftile.lab.audit.checks.speed.MOST": 5,
    "rooftile.lab.audit.process.lookout.ENOUGH": 10,
    "rooftile.lab.audit.checks.library.MOST_REQUESTS": 40,
}
_CEILINGS = (
    "measure.ceilings.cpu.ceilings",
    "measure.ceilings.known.ceilings",
    "show.explain.processor.ceilings",
)
_CONTESTS = ("measure.climb", "measure.tune.search")
"""Modules of the laboratory that have a processor's OpenCL kernels run in a child."""


def fixed_ceilings() -> Ceilings:
    """The ceilings of no machine in particular: to measure some takes all cores for seconds."""
    from rooftile.lab.measure.ceilings.cpu import Ceilings, Rates

    rates = Rates(2, fma_gflops=200.0, read_gbps=30.0, copy_gbps=30.0, stream_copy_gbps=40.0)
    return Ceilings(rates, rates, undisturbed=True)


def hurry(replace: Callable[[str, Any], None]) -> None:
    """Few samples of the processor and of devices, without pauses."""
    for name, value in _SAMPLES.items():
        replace(name, value)


def judge_here(replace: Callable[[str, Any], None]) -> None:
    """No child process, which would know nothing of what tests replace."""
    for module in _CONTESTS:
        replace(f"rooftile.lab.{module}.runs_apart", lambda device: False)


def know_the_roof(replace: Callable[[str, Any], None]) -> Ceilings:
    """Fixed ceilings wherever a module asks for the processor's."""
    found = fixed_ceilings()
    for name in _CEILINGS:
        replace(f"rooftile.lab.{name}", lambda **_: found)
    return found


@pytest.fixture
def quick(monkeypatch):
    """For tests that do not look at times."""
    hurry(monkeypatch.setattr)


@pytest.fixture
def judged_here(monkeypatch):
    """For tests that replace what a contest calls."""
    judge_here(monkeypatch.setattr)


@pytest.fixture
def known_roof(monkeypatch, quick):
    """For tests that are no benchmark of the machine: few samples, too."""
    return know_the_roof(monkeypatch.setattr)


@pytest.fixture
def quick_audits(monkeypatch, known_roof):
    """For tests of audits that do not look at times."""
    for name, value in _SAMPLES_OF_AUDITS.items():
        monkeypatch.setattr(name, value)
