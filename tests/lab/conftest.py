from __future__ import annotations

import pytest

from rooftile.lab import climb
from rooftile.lab.ceilings import cpu as ceilings
from rooftile.lab.ceilings import known
from rooftile.lab.tune import search
from rooftile.runtime.timing import device as measure_gpu
from rooftile.runtime.timing import host as measure

RATES = ceilings.Rates(
    threads=2, fma_gflops=200.0, read_gbps=30.0, copy_gbps=30.0, stream_copy_gbps=40.0
)


@pytest.fixture(autouse=True)
def judged_here(monkeypatch):
    """No child process, which would know nothing of what tests replace."""
    for module in (climb, search):
        monkeypatch.setattr(module, "runs_apart", lambda device: False)


@pytest.fixture
def known_roof(monkeypatch):
    """Fixed ceilings and few rounds: a test of the ladder is no benchmark of the machine."""
    found = ceilings.Ceilings(RATES, RATES, undisturbed=True)
    monkeypatch.setattr(known, "ceilings", lambda **_: found)
    monkeypatch.setattr(measure, "_MOST", 3)
    monkeypatch.setattr(measure_gpu, "_MOST_SAMPLES", 3)
    return found


@pytest.fixture
def few_samples(monkeypatch):
    """For tests that do not look at the times."""
    monkeypatch.setattr(measure_gpu, "_MOST_SAMPLES", 3)
    monkeypatch.setattr(measure_gpu, "_WARM_UP_S", 0)
