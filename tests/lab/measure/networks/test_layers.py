"""The times of a plan's layers and of the whole: each is there, and the plan is as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rooftile
from rooftile.lab.measure.networks.layers import PlanWork, device_time, profile
from rooftile.nn import ConvLayer, LinearLayer, Network
from rooftile.ops import Float32, Pool
from rooftile.runtime.timing import device as device_timing

pytestmark = pytest.mark.usefixtures("plainly_compiled")

SMALL = Network(
    "small",
    (2, 12, 10),
    (
        ConvLayer("conv1", 3, 3, padding=1, activation="relu", pool=Pool.of("max", 2)),
        ConvLayer("conv2", 5, 5, activation="tanh"),
        LinearLayer("linear1", 9),
    ),
).initialise(3)


def images(count: int) -> Float32:
    return np.random.default_rng(0).standard_normal((count, *SMALL.input_shape), np.float32)


@pytest.fixture
def name(device: Any) -> str:
    return f"{device.description.kind}:{device.description.index}"


def test_every_layer_is_timed_on_the_cpu() -> None:
    found = profile(SMALL.plan(batch=8), images(8))
    assert list(found) == [layer.name for layer in SMALL.layers]
    assert all(timing.median > 0 for timing in found.values())


def test_every_layer_and_the_whole_are_timed_on_the_device(name: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(device_timing, "MOST_SAMPLES", 3)
    plan: Any = SMALL.plan(batch=8, device=name)
    x = images(11)
    expected = plan(x)
    found = profile(plan, x)
    assert list(found) == [layer.name for layer in SMALL.layers]
    assert all(timing.median > 0 for timing in (*found.values(), device_time(plan, x[:3])))
    np.testing.assert_array_equal(plan(x), expected)


def test_the_work_is_the_plans(name: str) -> None:
    plan: Any = SMALL.plan(batch=8, device=name)
    with plan.held() as gpu:
        flush = device_timing.Flush(gpu)
    work = PlanWork(plan, images(11), flush)
    np.testing.assert_array_equal(work.computed(), plan(images(8)))
    # Other calls of the plan leave what it computes on alone.
    plan(-images(8))
    np.testing.assert_array_equal(work.computed(), plan(images(8)))


@pytest.mark.parametrize("bad", [images(3)[:, :1], images(3)[:0], [[1.0]]])
def test_wrong_images_are_refused_by_name(bad: Any, name: str) -> None:
    plan: Any = SMALL.plan(batch=4, device=name)
    for call in (profile, device_time):
        with pytest.raises(rooftile.InputError, match="images"):
            call(plan, bad)
