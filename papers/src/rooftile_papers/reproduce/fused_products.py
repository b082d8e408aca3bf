"""The milestone report's convolutions as products of matrices: every option, and their pairs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.analysis.launch import ceil_div
from rooftile.analysis.layers import conv_flops
from rooftile.devices.gpu import GpuDevice, Launch, Program
from rooftile.ops import Conv2d, Float32
from rooftile.ops.precision import ERROR_MODELS, rounded
from rooftile.strategies.contract.gpu import HEADERS

KERNELS = Path(__file__).parent / "kernels"
FOLDERS = (KERNELS, HEADERS)
"""Folders of the texts' headers."""
MASK = 7
_PLAIN, _FLOAT16, _TF32 = -1, 0, 2
"""Values of CORES: no tensor cores, or as ``common/cores.h`` numbers them."""
_PRECISIONS = {_PLAIN: "ieee", _FLOAT16: "fp16", _TF32: "tf32"}
STREAMS = 4
_STAGE_THREADS = 256

Config = Mapping[str, int]
Call = Callable[[], object]
Memory = tuple[Any, Any, Any]
"""Images or an unrolled matrix, weights, and the result, on the device."""


@dataclass(frozen=True)
class Layer:
    """One of the two convolutions, without padding."""

    name: str
    channels: int
    size: int
    maps: int

    @property
    def out(self) -> int:
        """Rows, and columns, of the result."""
        return self.size - MASK + 1

    @property
    def depth(self) -> int:
        """The length of a result's sum."""
        return self.channels * MASK**2

    def flops(self, batch: int) -> int:
        """Of the direct method."""
        return conv_flops(self.maps, self.channels, MASK, self.out, self.out, batch)

    def macros(self) -> dict[str, int]:
        """Its sizes, as the texts name them."""
        sizes = {"CHANNELS": self.channels, "SIZE": self.size}
        return {**sizes, "MAPS": self.maps, "MASK": MASK}


LAYERS = (Layer("layer 1", 1, 86, 4), Layer("layer 2", 4, 40, 16))
_BASE = {
    "TILE": 16, "RESTRICTED": 0, "MASK_CONSTANT": 0, "UNROLLED": 0, "CORES": _PLAIN,
    "EVERY_WARP": 0, "STAGED": 0,
}  # fmt: skip
OPTIONS: Mapping[str, Config] = {
    "restrict": {"RESTRICTED": 1},
    "constant": {"MASK_CONSTANT": 1},
    "unrolled": {"UNROLLED": 1},
    "tile 8": {"TILE": 8},
    "tile 32": {"TILE": 32},
    "tf32": {"CORES": _TF32},
    "fp16": {"CORES": _FLOAT16},
    "fp16, every warp": {"CORES": _FLOAT16, "EVERY_WARP": 1},
    "streams": {"STAGED": 1},
}
"""Each option's changes of the baseline."""


def precision(config: Config) -> str:
    """The format of a variant's operands."""
    return _PRECISIONS[config["CORES"]]


def pairs() -> dict[str, Config | str]:
    """Every pair of options: its config, or why there is none."""
    found: dict[str, Config | str] = {}
    for (one, first), (other, second) in itertools.combinations(OPTIONS.items(), 2):
        both = {**_BASE, **first, **second}
        why = _why_not(both, set(first) & set(second))
        found[f"{one} + {other}"] = why or both
    return found


def _why_not(config: Config, shared: set[str]) -> str:
    if shared:
        return "both change the same"
    if config["CORES"] == _PLAIN or config["TILE"] == _BASE["TILE"]:
        return ""
    if config["TILE"] == 8:
        return "the instruction's square is 16 wide"
    if config["CORES"] == _TF32 or config["EVERY_WARP"]:
        return "it has a tile of its own"
    return ""


def variants(kind: str = "cuda") -> dict[str, Config]:
    """The baseline, every option alone, and all pairs that can be, as far as a kind of device has
    their instructions."""
    found: dict[str, Config] = {"baseline": dict(_BASE)}
    found |= {name: {**_BASE, **change} for name, change in OPTIONS.items()}
    found |= {name: one for name, one in pairs().items() if not isinstance(one, str)}
    return {
        name: config
        for name, config in found.items()
        if kind == "cuda" or config["CORES"] == _PLAIN
    }


@dataclass(frozen=True)
class _Tile:
    """A block's part of the product, and the text that computes it."""

    text: str
    maps: int
    columns: int
    block: tuple[int, int, int]
    macros: Mapping[str, int]


def _tile(config: Config) -> _Tile:
    width = config["TILE"]
    if config["CORES"] == _PLAIN:
        return _Tile("fused_product.cu", width, width, (width, width, 1), {"TILE": width})
    # The report's blocks: TF32 has 4 warps for 32 x 32, FP16 has 8, of which one multiplies.
    maps, columns, warps = width, width, 8
    if config["CORES"] == _TF32:
        maps, columns, warps = 32, 32, 4
    elif config["EVERY_WARP"]:
        maps, columns = 16, 16 * warps
    macros = {"CORES": config["CORES"], "TILE_MAPS": maps, "TILE_COLUMNS": columns, "WARPS": warps}
    return _Tile("tensor_product.cu", maps, columns, (32 * warps, 1, 1), macros)


class Product:
    """A variant's text, launches and, once it is compiled, program for a layer."""

    def __init__(self, layer: Layer, name: str, config: Config) -> None:
        self._layer, self._config, self._tile = layer, config, _tile(config)
        words = f"{layer.name} {name}"
        self.kernel = "".join(c if c.isalnum() else "_" for c in words)
        self.text = (KERNELS / self._tile.text).read_text(encoding="utf-8")
        self.program: Program | None = None

    def compile(self, gpu: GpuDevice, weights: Float32) -> None:
        """Raises `CompileFailure`."""
        self.program = gpu.compile(self.text, self.macros(), FOLDERS)
        if self._config["MASK_CONSTANT"]:
            self.program.set_constant("mask", weights.reshape(-1))

    def macros(self) -> dict[str, int | str]:
        """All of the text's macros."""
        kept = ("RESTRICTED", "MASK_CONSTANT", "UNROLLED", "STAGED")
        switches = {name: self._config[name] for name in kept}
        return {**self._layer.macros(), **switches, **self._tile.macros, "ENTRY": self.kernel}

    def launch(self, columns: int, images: int) -> Launch:
        """A product of ``columns`` columns, for each of ``images`` images."""
        grid = (ceil_div(columns, self._tile.columns), ceil_div(self._layer.maps, self._tile.maps))
        constants = ("mask",) if self._config["MASK_CONSTANT"] else ()
        return Launch(self.kernel, (*grid, images), self._tile.block, constants=constants)

    def start(self, memory: Memory, columns: int, images: int) -> None:
        """Start it on the present stream."""
        assert self.program is not None, "it is compiled first"
        self.program.launch(self.launch(columns, images), *memory, np.int32(columns))

    def registers(self) -> int | None:
        """Of a thread; None where the compiler does not tell."""
        assert self.program is not None, "it is compiled first"
        return self.program.resources(self.launch(1, 1)).registers


class Slices:
    """The batch in slices, one a stream, each unrolled, multiplied and permuted.

    Where the device has one queue, the slices take turns in it.
    """

    def __init__(self, gpu: GpuDevice, layer: Layer, batch: int) -> None:
        """Raises `CompileFailure`, `OutOfMemory`."""
        self._gpu, self._layer = gpu, layer
        text = (KERNELS / "stages.cu").read_text(encoding="utf-8")
        self._stages = gpu.compile(text, layer.macros())
        ends = [number * batch // STREAMS for number in range(STREAMS + 1)]
        self.slices = [
            (first, last - first) for first, last in itertools.pairwise(ends) if last > first
        ]
        most, pixels = max(images for _, images in self.slices), layer.out**2
        self._held = [
            (gpu.allocate(4 * layer.depth * most * pixels),
             gpu.allocate(4 * layer.maps * most * pixels))
            for _ in self.slices
        ]  # fmt: skip
        streamed: Any = gpu
        several = gpu.kind == "cuda"
        self.streams: list[Any] = [streamed.stream() for _ in self.slices] if several else []

    def stages(self, number: int, product: Product, memory: Memory) -> dict[str, Call]:
        """The three kernels of a slice, each to be started on the present stream."""
        x, weights, out = memory
        (first, images), (matrix, made) = self.slices[number], self._held[number]
        layer, pixels, start = self._layer, self._layer.out**2, np.int32(first)
        threads = (_STAGE_THREADS, 1, 1)
        across = ceil_div(pixels, _STAGE_THREADS)
        unroll = Launch("unroll", (across, layer.channels, images), threads)
        permute = Launch("permute", (across, layer.maps, images), threads)
        return {
            "unroll": lambda: self._stages.launch(unroll, x, matrix, start),
            "product": lambda: product.start((matrix, weights, made), images * pixels, 1),
            "permute": lambda: self._stages.launch(permute, made, out, start),
        }

    def registers(self, product: Product) -> dict[str, int | None]:
        """Of a thread, by stage; None where the compiler does not tell."""
        threads = (_STAGE_THREADS, 1, 1)
        found = {
            name: self._stages.resources(Launch(name, (1, 1, 1), threads)).registers
            for name in ("unroll", "permute")
        }
        return {**found, "product": product.registers()}

    def start(self, product: Product, memory: Memory) -> None:
        """Start everything; the present stream waits for all slices."""
        for number in range(len(self.slices)):
            stages = self.stages(number, product, memory).values()
            if not self.streams:
                for stage in stages:
                    stage()
                continue
            stream, gpu = self.streams[number], self._gpu
            stream.after(gpu.mark())
            with gpu.on(stream.address):
                for stage in stages:
                    stage()
            gpu.after(stream.mark())


def is_right(
    layer: Layer, x: Float32, weights: Float32, result: Float32, rounding: str, number: int
) -> bool:
    """True if an image's result agrees with the rounded operands' within the precision's budget."""
    problem = Conv2d(1, layer.channels, layer.size, layer.size, layer.maps, (MASK, MASK))
    bias = np.zeros(layer.maps, np.float32)
    image, taps = rounded(x[number : number + 1], rounding), rounded(weights, rounding)
    expected = np.asarray(problem.reference(image, taps, bias))
    magnitude = np.asarray(problem.reference(np.abs(image), np.abs(taps), bias))
    model = ERROR_MODELS[rounding]
    budget = model.factor * model.unit * layer.depth**0.5 * magnitude
    return bool((np.abs(result - expected[0]) <= budget[0]).all())
