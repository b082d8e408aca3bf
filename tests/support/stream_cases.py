"""A network whose images stream, and its stream on whichever device there is."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
import pytest

from rooftile.nn import ConvLayer, LinearLayer, Network, image_stream
from rooftile.nn.data import FASHION
from rooftile.nn.gpu_plan import GpuPlan
from rooftile.ops import Pool

SMALL = Network(
    "small",
    (1, 20, 18),
    (
        ConvLayer("conv1", 3, 3, padding=1, activation="relu", pool=Pool.of("max", 2)),
        LinearLayer("linear1", 7),
    ),
    pixels=FASHION,
).initialise(3)


class InOrder:
    """A device of one queue that stands for a CUDA device: its streams do all at once."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def stream(self) -> Any:
        return self

    def after(self, mark: Any) -> None:
        pass

    def event(self) -> Any:
        return mock.Mock()

    address = stream_address = 0

    def copy_in(self, array: Any, buffer: Any, first: int = 0) -> None:
        device = self._device
        device._cl.enqueue_copy(device._queue, buffer, array, dst_offset=first, is_blocking=True)

    def pinned(self, count: int) -> Any:
        return np.full(count, np.nan, np.float32)


@contextlib.contextmanager
def streamed(network: Network, batch: int, device: Any):
    """A plan of the device and its stream; where that is no CUDA device, one that stands for it."""
    kind = device.description.kind
    plan = network.plan(batch=batch, device=kind)
    assert isinstance(plan, GpuPlan)
    if kind == "cuda":
        yield plan, plan.stream
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_stream, "is_pinned", lambda images: False)
        device = InOrder(plan._gpu)
        yield plan, plan.stream_on(device)
