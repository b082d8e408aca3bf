"""The milestone report: options of a fused product of matrices, singly and in pairs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rooftile.analysis.launch import ceil_div, covering
from rooftile.analysis.layers import conv_flops
from rooftile.analysis.machines import machine
from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.lab.reproduce.experiment import Experiment, Found, Log, Ruling, Setting, ruled
from rooftile.lab.reproduce.figures import Figure, table
from rooftile.lab.reproduce.timed import device_samples, measured
from rooftile.lab.reproduce.verdicts import ALIKE, by_ratio, by_value
from rooftile.ops import Conv2d, Float32

_KERNEL = Path(__file__).parent / "kernels" / "fused_product.cu"
_MASK = 7
_BATCHES = (100, 1000, 10000)
_SLICE = 2500
"""Images of a stream, of which there are four."""


@dataclass(frozen=True)
class _Layer:
    """One of the two convolutions, without padding."""

    name: str
    channels: int
    size: int
    maps: int

    @property
    def out(self) -> int:
        return self.size - _MASK + 1

    def flops(self, batch: int) -> int:
        return conv_flops(self.maps, self.channels, _MASK, self.out, self.out, batch)


LAYERS = (_Layer("layer 1", 1, 86, 4), _Layer("layer 2", 4, 40, 16))
_BASE = {"TILE": 16, "RESTRICTED": 0, "MASK_CONSTANT": 0, "UNROLLED": 0}
OPTIONS: Mapping[str, Mapping[str, int]] = {
    "restrict": {"RESTRICTED": 1},
    "constant": {"MASK_CONSTANT": 1},
    "unrolled": {"UNROLLED": 1},
    "tile 8": {"TILE": 8},
    "tile 32": {"TILE": 32},
}
"""What each option changes of the baseline; streams, TF32 and FP16 are not among them."""


def variants() -> dict[str, dict[str, int]]:
    """The baseline, every option alone, and all pairs that can be."""
    found = {"baseline": dict(_BASE)}
    found |= {name: {**_BASE, **change} for name, change in OPTIONS.items()}
    for (one, first), (other, second) in itertools.combinations(OPTIONS.items(), 2):
        if not set(first) & set(second):
            found[f"{one} + {other}"] = {**_BASE, **first, **second}
    return found


class Milestones(Experiment):
    """Every option of the fused kernel alone, and with every other one."""

    name = "milestones"
    title = "Options of a fused convolution, singly and in pairs"
    what = (
        "Two convolutions of 7 x 7 on images of 86 x 86 as a product whose second matrix is never "
        "stored, in batches of 100 to 10,000; each section changes one thing and asks whether it "
        "works with the others. With streams the timer brackets launches, not work; differences of "
        "restricted pointers are noise; the sweep repeats a table digit for digit. Streams, TF32 "
        "and FP16 are judged by calculation where that decides, and not run."
    )
    prefixes = ("milestones.",)
    needs: ClassVar = {"opencl": (80, 28), "cuda": None}

    def measure(self, setting: Setting) -> Found:
        """Both layers in every variant; the pairs on one batch."""
        log = Log()
        gpu = setting.gpu
        assert gpu is not None, "it needs a device with kernels"
        batches = _batches(setting)
        left = [str(batch) for batch in _BATCHES if batch not in batches]
        if left:
            log.notes.append(f"batches of {', '.join(left)} are left out")
        log.notes.append("its network, its weights and its images are not published: no accuracy")
        chosen = variants()
        if setting.quick and not setting.large:
            chosen = {name: config for name, config in chosen.items() if "+" not in name}
            log.notes.append("pairs of options are left out")
        with gpu.on():
            for layer in LAYERS:
                for batch in batches:
                    last = batch == batches[-1]
                    names = {k: v for k, v in chosen.items() if last or "+" not in k}
                    _measure_layer(log, gpu, layer, batch, names, setting)
        return log.found()

    def judge(self, found: Found) -> list[Ruling]:
        """Options in ratio to the baseline; what no machine can do, by calculation."""
        rulings: list[Ruling] = []
        baseline = _times(found, "baseline")
        rulings += by_ratio(table("milestones.baseline"), baseline)
        for option in OPTIONS:
            rulings += _against_baseline(option, _times(found, option), baseline)
        for figure in table("milestones.streams").figures:
            rulings.append(_stream_time(figure, found))
        rulings += _tensor_core_text()
        rulings += _stream_grids()
        return ruled(rulings, self)


def _batches(setting: Setting) -> tuple[int, ...]:
    if not setting.large:
        return _BATCHES[:1]
    return _BATCHES[:2] if setting.quick else _BATCHES


def _measure_layer(
    log: Log,
    gpu: GpuDevice,
    layer: _Layer,
    batch: int,
    chosen: Mapping[str, Mapping[str, int]],
    setting: Setting,
) -> None:
    """Each variant, compared with the reference on a few images and with the baseline on all."""
    generator = np.random.default_rng(setting.seed)
    x = generator.random((batch, layer.channels, layer.size, layer.size), np.float32)
    weights = generator.standard_normal((layer.maps, layer.channels, _MASK, _MASK), np.float32)
    given = gpu.upload(x), gpu.upload(weights)
    result = np.empty((batch, layer.maps, layer.out, layer.out), np.float32)
    out = gpu.upload(result)
    calls: dict[str, Callable[[], object]] = {}
    label = f"{layer.name} of {batch}"
    first: Float32 | None = None
    for name, config in chosen.items():
        call = _launcher(gpu, layer, batch, config, weights, (*given, out))
        result[...] = np.nan
        gpu.copy_in(result, out)
        call()
        gpu.copy_out(out, result)
        first = result.copy() if first is None else first
        difference = float(np.abs(result - first).max())
        said = f"at most {difference:.2g} from the baseline, on all images"
        log.check(f"{label}, {name} is right", _is_right(layer, x, weights, result), said)
        calls[f"{label}, {name}"] = call
    samples = device_samples(calls, gpu, 0.1 if setting.quick else 0.3)
    for name, times in samples.items():
        group = "pairs" if "+" in name else "alone"
        log.measured.append(measured(name, times, group))
    _launch_alone(log, gpu, label, calls[f"{label}, baseline"])


def _launch_alone(log: Log, gpu: GpuDevice, label: str, call: Callable[[], object]) -> None:
    """The report's time of streams: until the launch returns, not until the work is done."""
    times = []
    for _ in range(5):
        gpu.synchronise()
        began = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - began))
    gpu.synchronise()
    log.measured.append(measured(f"{label}, launch alone", times, "as published"))


def _launcher(
    gpu: GpuDevice,
    layer: _Layer,
    batch: int,
    config: Mapping[str, int],
    weights: Float32,
    memory: tuple[Any, ...],
) -> Callable[[], object]:
    sizes = {"CHANNELS": layer.channels, "SIZE": layer.size, "MAPS": layer.maps, "MASK": _MASK}
    program = gpu.compile(_KERNEL.read_text(encoding="utf-8"), {**sizes, **config})
    if config["MASK_CONSTANT"]:
        program.set_constant("mask", weights.reshape(-1))
    tile = config["TILE"]
    grid = (ceil_div(layer.out**2, tile), ceil_div(layer.maps, tile), batch)
    constants = ("mask",) if config["MASK_CONSTANT"] else ()
    launch = Launch("fused_product", grid, (tile, tile, 1), constants=constants)
    return lambda: program.launch(launch, *memory)


def _is_right(layer: _Layer, x: Float32, weights: Float32, result: Float32) -> bool:
    """Against the float64 reference, on the first and the last image."""
    problem = Conv2d(1, layer.channels, layer.size, layer.size, layer.maps, (_MASK, _MASK))
    bias = np.zeros(layer.maps, np.float32)
    depth = layer.channels * _MASK**2
    for number in (0, len(x) - 1):
        image = x[number : number + 1]
        expected = np.asarray(problem.reference(image, weights, bias))
        magnitude = np.asarray(problem.reference(np.abs(image), np.abs(weights), bias))
        budget = depth * 2.0**-24 * magnitude
        if not (np.abs(result[number] - expected[0]) <= budget[0]).all():
            return False
    return True


def _times(found: Found, variant: str) -> dict[str, float]:
    """Milliseconds by the keys of the report's tables."""
    labels = [f"{layer.name} of {batch}" for layer in LAYERS for batch in _BATCHES]
    return {
        label: value
        for label in labels
        if (value := found.value(f"{label}, {variant}")) is not None
    }


def _against_baseline(
    option: str, ours: Mapping[str, float], baseline: Mapping[str, float]
) -> list[Ruling]:
    """What the option changes, there and here."""
    published = table("milestones.baseline")
    rulings = []
    for figure in table(f"milestones.{option}").figures:
        if figure.key not in ours:
            continue
        there = figure.value / published[figure.key]
        here = ours[figure.key] / baseline[figure.key]
        said = f"{there:.2f} times the baseline's time there, {here:.2f} times here"
        alike = abs(there - here) <= ALIKE * max(there, here)
        word = "holds in ratio" if alike else "differs here"
        rulings.append(Ruling(figure, word, said, ours[figure.key]))  # type: ignore[arg-type]
    return rulings


def _stream_time(figure: Figure, found: Found) -> Ruling:
    """The rate that the work would have had, against the peak of the report's GPU."""
    name, _, batch = figure.key.partition(" of ")
    layer = next(one for one in LAYERS if one.name == name)
    rate = 1e-6 * layer.flops(int(batch)) / figure.value
    peak = machine("a40").peak_gflops
    said = (
        f"the work in that time would be {1e-3 * rate:,.0f} TFLOP/s, {rate / peak:.1f} times the "
        "peak of an A40: launches were timed, not the work"
    )
    word = "measured something else" if rate > peak else "differs here"
    ours = found.value(f"{figure.key}, launch alone")
    return Ruling(figure, word, said, ours)  # type: ignore[arg-type]


def _tensor_core_text() -> list[Ruling]:
    """The text's sums of both layers, against the tables'."""
    keys = [f"{layer.name} of 10000" for layer in LAYERS]
    sums = {
        "before": sum(table("milestones.baseline")[key] for key in keys),
        "after": sum(table("milestones.tf32")[key] for key in keys),
    }
    rulings = []
    for figure in table("milestones.tf32 text").figures:
        ours = sums[figure.key.removeprefix("profiler ")]
        said = f"its tables add up to {ours:.1f} ms, of which layer 1 did not change"
        rulings.append(by_value(figure, ours, said, same=0.01))
    return rulings


def _stream_grids() -> list[Ruling]:
    """Blocks of the profiled kernels, by the report's own sizes."""
    unrolled = covering((LAYERS[0].out ** 2,), (256,)).block_count
    products = [_SLICE * layer.out**2 // 16 for layer in LAYERS]
    ours = {
        "layer 1 unroll": unrolled,
        "layer 1 product": products[0],
        "layer 2 product": products[1],
    }
    said = f"{_SLICE} images a stream in tiles of 16, or 256 threads a block: digits were misread"
    return [
        by_value(figure, ours[figure.key], said, same=0.001)
        for figure in table("milestones.stream grids").figures
        if figure.key in ours
    ]


EXPERIMENT = Milestones()
