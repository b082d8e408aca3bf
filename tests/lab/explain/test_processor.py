"""Advice on the CPU's strategies follows from the numbers."""

from __future__ import annotations

import dataclasses

import pytest

from rooftile.lab.ceilings.cpu import Ceilings, Rates
from rooftile.lab.explain import processor
from rooftile.lab.explain.measured import Measured
from rooftile.ops import named
from rooftile.strategies import strategy

RATES = Rates(threads=2, fma_gflops=200.0, read_gbps=30.0, copy_gbps=30.0, stream_copy_gbps=40.0)


@pytest.fixture
def explained(monkeypatch):
    monkeypatch.setattr(processor, "ceilings", lambda **_: Ceilings(RATES, RATES, True))
    return processor.explain_cpu(
        strategy("conv2d", "register_tile"), named("conv2d", "lenet-conv1", 8)
    )


def measured(found, share):
    time = Measured(found.floor_ms / share, None, "a CPU", "a test", {})
    return dataclasses.replace(found, units=1000, measured=time)


def test_few_units_leave_some_of_several_threads_idle(explained):
    few = dataclasses.replace(explained, units=3, threads=2)
    assert "leave some idle" in few.advice()[0]
    assert not any("idle" in line for line in dataclasses.replace(few, threads=1).advice())
    assert not any("idle" in line for line in dataclasses.replace(few, units=None).advice())


def test_advice_follows_from_the_share_of_the_floor(explained):
    assert "No time of it" in dataclasses.replace(explained, units=1000).advice()[0]
    assert "passes the floor" in measured(explained, 1.5).advice()[0]
    assert "little is left" in measured(explained, 0.8).advice()[0]
    assert "larger tile" in measured(explained, 0.2).advice()[0]
