"""Two convolution blocks in one kernel: a pipeline of warpgroups over many images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops import Chain, Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies import strategy
from rooftile.strategies.common.cores import CORES, Cores, WgmmaStrategy
from rooftile.strategies.common.folded_pool import (
    does_not_fold,
    patch_slabs,
    pool_window,
    strips_of,
    weight_bytes,
)
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.rounded import rounding
from rooftile.strategies.common.warpgroups import (
    elements,
    wgmma,
    wgmma_wait,
)
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable, family
from rooftile.strategies.contract.machine import Multiprocessors
from rooftile.strategies.conv2d.sizes import sizes

_MOST_REGISTERS = 232
_MOST_PIECES = 24
"""Pieces of an image, four numbers each, that a loading thread holds."""
_SETS = (2, 1)
"""Number of rows of windows with sums in each block: with two, the next row's product runs while
one is pooled."""
_MOST_GROUPS = 4
"""Groups of four maps whose sums a thread holds."""
_MOST_SLABS = 16
"""Slabs of 16 patch elements in a thread's registers."""
_MOST_STEPS = 8
"""Rows of windows of a task, which is written out."""
LEAST_IMAGES = 64
"""Number of images from which it is faster than the two blocks one after the other."""


class Front(WgmmaStrategy, GpuStrategy):
    """Takes two convolutions whose pools fold, without strides or ghost cells."""

    name = "front_{precision}"
    summary = "two blocks in one kernel, {numbers}"
    operation = "network"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "x:narrow", "OUT_NARROW": "out:narrow"}
    tunables = (
        Tunable("GROUPS_1", (1, 2, 3), 2),
        Tunable("GROUPS_2", (1, 2), 1),
        Tunable("TILES", (1, 2, 3), 2),
        Tunable("BETWEEN", (1, 2, 3, 4), 4),
    )

    takes = features("activation:* pool:max")

    def limits(self, problem: Chain) -> str | None:
        first, second = _pair(problem)
        if first is None or second is None:
            return "it takes two convolutions"
        if first.activation != second.activation:
            return "both blocks have the same activation"
        for layer in (first, second):
            reason = layer.why_not_first or _does_not_fit(layer)
            if reason is not None:
                return reason
        if first.channels * first.height * first.width % 4:
            return "an image is read in pieces of 16 bytes"
        pieces = _pieces(first)
        if pieces > _MOST_PIECES:
            return f"{pieces} pieces of an image a loading thread, at most {_MOST_PIECES}"
        return self.invalid(problem, self.config(problem))

    def pays(self, problem: Chain) -> bool:
        """See `Strategy.pays`: few images do not fill its pipelines."""
        return problem.batch >= LEAST_IMAGES

    def invalid(self, problem: Chain, config: Config) -> str | None:
        # A warpgroup must meet the same buffers again: barriers tell only one round from the next.
        for ring, groups in (
            ("TILES", "GROUPS_1"),
            ("BETWEEN", "GROUPS_1"),
            ("BETWEEN", "GROUPS_2"),
        ):
            if config[ring] % config[groups]:
                return f"a ring of {config[ring]} images for {config[groups]} warpgroups"
        shared = self._shared(problem, config)
        if shared > self.machine.shared_room(1):
            return f"{shared} bytes of shared memory"
        registers = _registers(problem, config, self.machine)
        if not all(32 <= count <= _MOST_REGISTERS for count in registers):
            return f"{registers} registers a thread of the roles"
        held = _held(_layers(problem)[1], 2)
        if held > registers[2]:
            return f"{held} registers a thread of the second block"
        return None

    def macros(self, problem: Chain, config: Config) -> dict[str, int | str]:
        first, second = _layers(problem)
        macros: dict[str, int | str] = {
            **config,
            "THREADS": _threads(config),
            "ACTIVATION": ACTIVATION_CODES[first.activation],
            "POOL_KIND": 0,
            "CORES": CORES[self.narrow].word,
        }
        for n, layer in ((1, first), (2, second)):
            block = sizes(layer) | {"SEGMENTS": _segments(layer), "PLANE": _plane(layer, n)}
            block |= {"TILE": _tile(layer, n), "SETS": _SETS[n - 1]}
            macros |= {f"{name}_{n}": value for name, value in block.items()}
        macros |= _products(blocks(second.maps, 4), CORES[self.precision])
        most = self.machine.register_room(_threads(config))
        for role, count in enumerate(_registers(problem, config, self.machine)):
            way = "dec" if count < most else "inc"
            text = f'asm volatile("setmaxnreg.{way}.sync.aligned.u32 {count};")'
            macros[f"REGISTERS_{role}"] = text if count != most else ""
        return macros

    def packed(
        self, problem: Chain, parameters: Mapping[str, Float32], config: Config
    ) -> dict[str, Float32]:
        names = [name for name, _ in problem.layers]
        arrays = {}
        for n, (name, layer) in enumerate(zip(names, _layers(problem), strict=True), start=1):
            kind = "pool_folded" if n == 1 else "pool_folded_wgmma"
            fold: Any = strategy("conv2d", f"{kind}_{self.narrow}", "cuda")
            arrays[f"weights_{n}"] = fold.pack(layer, parameters[f"{name}.weights"], config)
            arrays[f"bias_{n}"] = parameters[f"{name}.bias"]
        return arrays

    def workspace(self, problem: Chain, config: Config) -> dict[str, int]:
        layers = enumerate(_layers(problem), start=1)
        return {f"rounded_{n}": weight_bytes(layer) // 4 for n, layer in layers}

    def preparation(self, problem: Chain, config: Config) -> tuple[Step, ...]:
        return tuple(
            rounding(self, f"weights_{n}", f"rounded_{n}", weight_bytes(layer) // 2)
            for n, layer in enumerate(_layers(problem), start=1)
        )

    def steps(self, problem: Chain, config: Config) -> tuple[Step, ...]:
        grid = (min(problem.batch, self.machine.multiprocessors), 1, 1)
        shared = self._shared(problem, config)
        launch = Launch(self.kernel(), grid, (_threads(config), 1, 1), shared)
        arrays = ("x", "rounded_1", "bias_1", "rounded_2", "bias_2", "out")
        return (Step(launch, (*arrays, problem.batch)),)

    def _shared(self, problem: Chain, config: Config) -> int:
        """Folded weights, rings of images and their barriers."""
        first, second = _layers(problem)
        tiles, between = config["TILES"], config["BETWEEN"]
        weights = sum(weight_bytes(layer) for layer in (first, second))
        images = tiles * _tile(first, 1) + between * _tile(second, 2)
        return weights + 2 * images + 16 * (tiles + between)


def _pair(problem: Chain) -> tuple[Conv2d | None, Conv2d | None]:
    layers = problem.problems
    first, second = layers if len(layers) == 2 else (None, None)
    return (
        first if isinstance(first, Conv2d) else None,
        second if isinstance(second, Conv2d) else None,
    )


def _layers(problem: Chain) -> tuple[Conv2d, Conv2d]:
    first, second = _pair(problem)
    assert first is not None
    assert second is not None
    return first, second


def _does_not_fit(layer: Conv2d) -> str | None:
    reason = does_not_fold(layer)
    if reason is not None:
        return reason
    if layer.width % 2:
        return "rows are read in pairs"
    if layer.channels * patch_slabs(layer) > _MOST_SLABS:
        return (
            f"{layer.channels * patch_slabs(layer)} slabs of a patch, registers hold {_MOST_SLABS}"
        )
    if layer.maps > 4 * _MOST_GROUPS:
        return f"{layer.maps} maps, where {4 * _MOST_GROUPS} fit"
    return None


def _half(layer: Conv2d) -> int:
    """Rows of results of the upper half."""
    return blocks(layer.output_size[0], 2)


def _segments(layer: Conv2d) -> int:
    """Segments of a half image, so that four warps have tasks and none is too long to be written
    out."""
    half, down = _half(layer), pool_window(layer)[0] // 2
    whole = [s for s in range(1, half + 1) if half % s == 0]
    short = [s for s in whole if half * down // s <= _MOST_STEPS] or whole[-1:]
    even = [s for s in short if strips_of(layer) * s % 4 == 0]
    return (even or short)[0]


def _plane(layer: Conv2d, number: int) -> int:
    """From a channel to the next in a tile: of the second block's, into other banks."""
    size = layer.height * layer.width
    return size if number == 1 else size + (16 - size) % 64


def _tile(layer: Conv2d, number: int) -> int:
    """Elements of an image in shared memory, up to the end of what a task may touch."""
    down = pool_window(layer)[0] // 2
    rows = 4 * _half(layer) * down + 2 * patch_slabs(layer) - 2
    reach = (rows - 1) * layer.width + 16 * strips_of(layer) + 6
    plane = _plane(layer, number)
    return blocks((layer.channels - 1) * plane + max(plane, reach), 8) * 8


def _pieces(layer: Conv2d) -> int:
    return blocks(layer.channels * layer.height * layer.width, 4 * 128)


def _threads(config: Config) -> int:
    return 128 * (1 + config["GROUPS_1"] + config["GROUPS_2"])


def _held(layer: Conv2d, number: int) -> int:
    """Registers of a thread that multiplies: slabs, sums, and what addresses take; of the first
    block a group of maps and its weights."""
    groups, sums = 1 if number == 1 else blocks(layer.maps, 4), _SETS[number - 1]
    slabs = 4 * layer.channels * (patch_slabs(layer) + sums - 1)
    weights = 4 * layer.channels * patch_slabs(layer) if number == 1 else 0
    return slabs + weights + (8 * sums + 3) * groups + 20


def _registers(problem: Chain, config: Config, machine: Multiprocessors) -> tuple[int, int, int]:
    """A thread's of each role: what the others do not need is the second block's."""
    first, _ = _layers(problem)
    most = machine.register_room(_threads(config))
    load = min(most, blocks(4 * _pieces(first) + 20, 8) * 8)
    multiply = min(most, blocks(_held(first, 1) + 12, 8) * 8)
    spared = most - load + config["GROUPS_1"] * (most - multiply)
    last = (most + spared // config["GROUPS_2"]) // 8 * 8
    return load, multiply, min(last, _MOST_REGISTERS)


def _products(groups: int, cores: Cores) -> dict[str, str]:
    """The instructions of the second block, for 16 columns a group of four maps: sums = a b,
    sums += a b, and the wait for all but the last few."""
    sums, a = elements("sum", 8 * groups), elements("(a)", 4)
    return {
        "WGMMA_FIRST(sum, a, b)": wgmma(cores, sums, a, "b", False),
        "WGMMA_NEXT(sum, a, b)": wgmma(cores, sums, a, "b", True),
        "WGMMA_WAIT_FOR(sum, later)": wgmma_wait(sums, "later"),
    }


STRATEGIES = family(Front(), "fp16", "bf16")
