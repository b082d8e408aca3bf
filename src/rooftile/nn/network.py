"""A network: what it is, and the plans that compute it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rooftile.devices.names import DeviceName, parse_device
from rooftile.errors import InputError
from rooftile.nn.data.pixels import Pixels
from rooftile.nn.data.standardisation import Standardisation
from rooftile.nn.definition import NetworkDefinition
from rooftile.nn.interface import Task
from rooftile.nn.layers import Layer, Shape
from rooftile.ops import Float32, Precision
from rooftile.runtime.calls.plain import plain

if TYPE_CHECKING:
    from rooftile.nn.plan import Plan

PREDICT_BATCH = 256
"""Images at a time by default: enough to fill the cores, little memory."""


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
        standardisation: Standardisation | None = None,
        task: Task | None = None,
    ) -> None:
        """Raises `InputError` when the layers do not fit each other or the parameters."""
        own, row = (name, layers) if isinstance(name, str) else ("network", name)
        shape = (input_shape,) if isinstance(input_shape, int) else tuple(input_shape)
        given = pixels, standardisation, task
        super().__init__(own, shape, tuple(row), parameters or {}, metadata or {}, *given)

    @plain
    def plan(
        self,
        *,
        batch: int = PREDICT_BATCH,
        precision: Precision = "ieee",
        device: DeviceName | None = None,
        threads: int | None = None,
        strategies: Mapping[str, str] | None = None,
        prepared: bool = False,
    ) -> Plan:
        """Compile the network for a batch and a device, by default the CPU: see `Plan`.

        ``prepared``: inputs come as the layers read them, standardised already.  ``threads`` are
        the CPU's.  ``strategies`` names the strategy of some layers; the others
        are chosen.  Raises `InputError`, `UnsupportedProblem`, `OutOfMemory`; on a GPU also
        `DeviceMissing` and `CompileFailure`.
        """
        # Imported here: a training makes no plan.
        if device is None or parse_device(device)[0] == "cpu":
            from rooftile.nn.cpu_plan import CpuPlan

            return CpuPlan(
                self, batch, precision, threads=threads, strategies=strategies, prepared=prepared
            )
        if threads is not None:
            raise InputError("threads", threads, f"None on {device}: they are the CPU's")
        from rooftile.nn.gpu_plan import GpuPlan

        return GpuPlan(
            self, batch, precision, device=device, strategies=strategies, prepared=prepared
        )

    @plain
    def predict(
        self,
        images: Any,
        *,
        precision: Precision = "ieee",
        device: DeviceName | None = None,
        prepared: bool = False,
    ) -> Any:
        """The class of each image or row, int64[N]: 1 where a network's only output is above one
        half, else the largest output's; of a regression its outputs, float32[N, outputs].

        ``images`` are what a plan takes, and images uint8 of any size, which are resized to the
        network's; rows of features are standardised where the network has a standardisation,
        unless they are ``prepared`` already.  The plan is chosen and kept: one image at a time has
        its own, for latency.  Raises the errors of `Plan`.
        """
        host = isinstance(images, np.ndarray)
        if host and images.dtype == np.uint8 and not prepared and self.interface.images:
            images, prepared = self.prepare(images), True
        single = host and images.shape[:1] == (1,)
        batch = 1 if single else PREDICT_BATCH
        plan = _kept_plan(self, batch, precision, device, prepared)
        return self.interface.predictions(plan(images))


@lru_cache(maxsize=4)
def _kept_plan(
    network: Network, batch: int, precision: Precision, device: DeviceName | None, prepared: bool
) -> Plan:
    return network.plan(batch=batch, precision=precision, device=device, prepared=prepared)
