"""One layer of the milestone report in every variant: right, then timed."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from rooftile.devices.gpu import GpuDevice
from rooftile.errors import RooftileError
from rooftile.ops import Float32
from rooftile_papers.reproduce.experiment import Log
from rooftile_papers.reproduce.fused_products import (
    MASK,
    Call,
    Config,
    Layer,
    Memory,
    Product,
    Slices,
    is_right,
    precision,
)
from rooftile_papers.reproduce.timed import device_samples, measured

_LOOKED_AT = 64
"""Images at each end of a batch whose results come to the host; their number makes every
beginning a multiple of 256 bytes."""
_LEAST, _MOST = 3, 20
"""Samples of what no graph can repeat."""


class MeasuredLayer:
    """A layer's images, weights and result on a device, and what is measured of them."""

    def __init__(self, log: Log, gpu: GpuDevice, layer: Layer, batch: int, seed: int) -> None:
        """Raises `OutOfMemory`."""
        generator = np.random.default_rng(seed)
        shape = (batch, layer.channels, layer.size, layer.size)
        self.x = generator.random(shape, np.float32)
        weights = (layer.maps, layer.channels, MASK, MASK)
        self.weights = generator.standard_normal(weights, np.float32)
        self.log, self.gpu, self.layer, self.batch = log, gpu, layer, batch
        result = gpu.allocate(4 * batch * layer.maps * layer.out**2)
        self.memory: Memory = (gpu.upload(self.x), gpu.upload(self.weights), result)
        self.label = f"{layer.name} of {batch}"
        self._slices: Slices | None = None
        self._first: Float32 | None = None

    @property
    def slices(self) -> Slices:
        """Its batch in slices; their memory is allocated once for all variants."""
        self._slices = self._slices or Slices(self.gpu, self.layer, self.batch)
        return self._slices

    def run(self, chosen: Mapping[str, Config], seconds: float) -> None:
        """Every variant: compared with the reference on two images, with the baseline on those at
        both ends of the batch, and timed.  What is wrong is a check that failed, without a time."""
        graphs: dict[str, Call] = {}
        streamed: dict[str, Call] = {}
        for name, config in chosen.items():
            label = f"{self.label}, {name}"
            try:
                product = Product(self.layer, name, config)
                product.compile(self.gpu, self.weights)
                call = self._call(product, staged=bool(config["STAGED"]))
                if self._checked(label, call, config):
                    (streamed if config["STAGED"] else graphs)[label] = call
                    if name == "streams":
                        self._stages(product)
            except RooftileError as error:
                self.log.check(f"{label} is right", False, str(error))
        samples = device_samples(graphs, self.gpu, seconds)
        samples |= {name: self._samples(call, seconds) for name, call in streamed.items()}
        for name, times in samples.items():
            self.log.measured.append(measured(name, times, "pairs" if " + " in name else "alone"))
        alone = {**graphs, **streamed}.get(f"{self.label}, streams")
        if alone is not None:
            self._until_it_returns(alone)

    def _call(self, product: Product, *, staged: bool) -> Call:
        if staged:
            slices = self.slices
            return lambda: slices.start(product, self.memory)
        return lambda: product.start(self.memory, self.layer.out**2, self.batch)

    def _checked(self, label: str, call: Call, config: Config) -> bool:
        groups = self._groups()
        for first, images in groups:
            self._copy(first, np.full_like(images, np.nan), inwards=True)
        call()
        for first, images in groups:
            self._copy(first, images, inwards=False)
        found = np.concatenate([images for _, images in groups])
        self._first = found if self._first is None else self._first
        difference = float(np.abs(found - self._first).max())
        rounding = precision(config)
        right = all(
            is_right(self.layer, self.x, self.weights, result, rounding, number)
            for number, result in ((0, found[0]), (self.batch - 1, found[-1]))
        )
        said = f"at most {difference:.2g} from the baseline, on {len(found)} images"
        self.log.check(f"{label} is right", right, said)
        if rounding != "ieee" and right:
            self.log.number(f"{label}, largest difference", difference, "", "from the baseline")
        return right

    def _groups(self) -> list[tuple[int, Float32]]:
        """The first number and room for the results of images at both ends of the batch."""
        shape = self.layer.maps, self.layer.out, self.layer.out
        last = (self.batch - 1) // _LOOKED_AT * _LOOKED_AT
        ends = dict.fromkeys((0, last))
        return [
            (first, np.empty((min(_LOOKED_AT, self.batch - first), *shape), np.float32))
            for first in ends
        ]

    def _copy(self, first: int, images: Float32, *, inwards: bool) -> None:
        each = images[0].nbytes
        there = self.gpu.part(self.memory[2], first * each, images.nbytes)
        if inwards:
            self.gpu.copy_in(images, there)
        else:
            self.gpu.copy_out(there, images)

    def _samples(self, call: Call, seconds: float) -> list[float]:
        """Milliseconds of the device's clock, the host's launches among them: several streams."""
        samples: list[float] = []
        while len(samples) < _LEAST or (seconds > 0 and len(samples) < _MOST):
            began = time.perf_counter()
            with self.gpu.timer() as elapsed:
                call()
            samples.append(elapsed.milliseconds)
            seconds -= time.perf_counter() - began
        return samples

    def _stages(self, product: Product) -> None:
        """Each kernel of the first slice alone, and what it takes."""
        calls = {
            f"{self.label}, a slice's {name}": call
            for name, call in self.slices.stages(0, product, self.memory).items()
        }
        for name, times in device_samples(calls, self.gpu, 0.05).items():
            self.log.measured.append(measured(name, times, "stages of a slice"))
        for name, count in self.slices.registers(product).items():
            if count is not None:
                self.log.number(
                    f"{self.label}, registers of {name}", count, "registers", "stages of a slice"
                )

    def _until_it_returns(self, call: Call) -> None:
        """The report's time of streams: until the launches return, not until the work is done."""
        times = []
        for _ in range(5):
            self.gpu.synchronise()
            began = time.perf_counter()
            call()
            times.append(1e3 * (time.perf_counter() - began))
        self.gpu.synchronise()
        self.log.measured.append(measured(f"{self.label}, launch alone", times, "as published"))


__all__ = ["MeasuredLayer"]
