from __future__ import annotations

import pytest

from rooftile.lab import climb
from rooftile.lab.ceilings import known
from rooftile.lab.tune import search
from rooftile.runtime.timing import device as measure_gpu
from rooftile.runtime.timing import host as measure
from tests.support.climbed import fixed_ceilings


@pytest.fixture(autouse=True)
def judged_here(monkeypatch):
    """No child process, which would know nothing of what tests replace."""
    for module in (climb, search):
        monkeypatch.setattr(module, "runs_apart", lambda device: False)


@pytest.fixture
def known_roof(monkeypatch):
    """Fixed ceilings and few rounds: a test of the ladder is no benchmark of the machine."""
    found = fixed_ceilings()
    monkeypatch.setattr(known, "ceilings", lambda **_: found)
    monkeypatch.setattr(measure, "_MOST", 3)
    monkeypatch.setattr(measure_gpu, "_MOST_SAMPLES", 3)
    return found


@pytest.fixture
def few_samples(monkeypatch):
    """For tests that do not look at the times."""
    monkeypatch.setattr(measure_gpu, "_MOST_SAMPLES", 3)
    monkeypatch.setattr(measure_gpu, "_WARM_UP_S", 0)
