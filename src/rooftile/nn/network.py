"""A network: what it is, and the plans that compute it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.names import DeviceName, parse_device
from rooftile.errors import InputError
from rooftile.nn.data.pixels import Pixels
from rooftile.nn.definition import NetworkDefinition
from rooftile.nn.layers import Layer, Shape
from rooftile.ops import Float32, Precision

if TYPE_CHECKING:
    from rooftile.nn.plan import Plan

PREDICT_BATCH = 256
"""Images at a time where nobody says how many: enough to fill the cores, little memory."""


class Network(NetworkDefinition):
    """Layers in a row over images or features, with their parameters: see `NetworkDefinition`.

    ``Network(name, input_shape, layers)`` or, called "network", ``Network(layers, input_shape)``;
    a number of features stands for their shape.
    """

    def __init__(
        self,
        name: str | Sequence[Layer],
        input_shape: Shape | int,
        layers: Sequence[Layer] = (),
        parameters: Mapping[str, Float32] | None = None,
        metadata: Mapping[str, str] | None = None,
        pixels: Pixels | None = None,
    ) -> None:
        """Raises `InputError` when the layers do not fit each other or the parameters."""
        own, row = (name, layers) if isinstance(name, str) else ("network", name)
        shape = (input_shape,) if isinstance(input_shape, int) else tuple(input_shape)
        super().__init__(own, shape, tuple(row), parameters or {}, metadata or {}, pixels)

    def plan(
        self,
        *,
        batch: int = PREDICT_BATCH,
        precision: Precision = "ieee",
        device: DeviceName | None = None,
        threads: int | None = None,
        strategies: Mapping[str, str] | None = None,
    ) -> Plan:
        """Compile the network for a batch and a device, by default the CPU: see `Plan`.

        ``threads`` are the CPU's.  ``strategies`` names the strategy of some layers; the others
        are chosen.  Raises `InputError`, `UnsupportedProblem`, `OutOfMemory`; on a GPU also
        `DeviceMissing` and `CompileFailure`.
        """
        # Imported here: a training makes no plan.
        if device is None or parse_device(device)[0] == "cpu":
            from rooftile.nn.cpu_plan import CpuPlan

            return CpuPlan(self, batch, precision, threads=threads, strategies=strategies)
        if threads is not None:
            raise InputError("threads", threads, f"None on {device}: they are the CPU's")
        from rooftile.nn.gpu_plan import GpuPlan

        return GpuPlan(self, batch, precision, device=device, strategies=strategies)

    def predict(
        self, images: Float32, *, precision: Precision = "ieee", device: DeviceName | None = None
    ) -> NDArray[np.int64]:
        """The most likely class of each of float32[N, channels, height, width], int64[N].

        The plan is chosen and kept: one image at a time has its own, for latency.
        Raises the errors of `Plan`.
        """
        single = isinstance(images, np.ndarray) and images.shape[:1] == (1,)
        scores = _kept_plan(self, 1 if single else PREDICT_BATCH, precision, device)(images)
        labels: NDArray[np.int64] = scores.argmax(axis=1)
        return labels


@lru_cache(maxsize=4)
def _kept_plan(
    network: Network, batch: int, precision: Precision, device: DeviceName | None
) -> Plan:
    return network.plan(batch=batch, precision=precision, device=device)
