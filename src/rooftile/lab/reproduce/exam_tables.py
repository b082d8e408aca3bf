"""The course's worked numbers: the printed answer, ours, and the reason where they part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rooftile.analysis import (
    bounds,
    divergence,
    launch,
    layers,
    occupancy,
    traffic,
    transfers,
    work,
)
from rooftile.analysis.architectures import Multiprocessor
from rooftile.analysis.machines import MACHINES
from rooftile.lab.reproduce.experiment import Experiment, Found, Log, Ruling, Setting, ruled
from rooftile.lab.reproduce.figures import Figure

_SENTENCE = "Programming Massively Parallel Processors"
_OF_1536 = Multiprocessor(threads=1536, blocks=4)


def _letters(letter: str) -> Callable[[], float]:
    return lambda: _SENTENCE.lower().count(letter)


def _matmul_rate(tile: int) -> Callable[[], float]:
    return lambda: bounds.tiled_matmul_rate(150, tile)


def _passes_until_warps_idle() -> float:
    """Passes of the simple tree after which whole warps of a block of 1024 have nothing to do."""
    passes = 0
    while divergence.reduction_step(1024, 2**passes, "interleaved").active_warps == 32:
        passes += 1
    return passes


def _idle_share() -> float:
    return 1 - divergence.reduction_step(1024, 64, "interleaved").active_warps / 32


def _worked_convolution() -> float:
    """The lecture's 7 x 7 image under its 5 x 5 mask, at (2, 2)."""
    image = np.array(
        [[1, 2, 3, 4, 5, 6, 7], [2, 3, 4, 5, 6, 7, 8], [3, 4, 5, 6, 7, 8, 9], [4, 5, 6, 7, 8, 5, 6],
         [5, 6, 7, 8, 5, 6, 7], [6, 7, 8, 9, 0, 1, 2], [7, 8, 9, 0, 1, 2, 3]]
    )  # fmt: skip
    row = np.array([[1, 2, 3, 2, 1], [2, 3, 4, 3, 2], [3, 4, 5, 4, 3]])
    mask = np.vstack([row, row[1::-1]])
    return float((image[:5, :5] * mask).sum())


@dataclass(frozen=True)
class _Answer:
    """How a printed number is calculated, and what is wrong where it differs."""

    calculate: Callable[[], float]
    reason: str


_CORE = traffic.conv_core((32, 32), (3, 3))
_SWAPPED = "the halo has 360 + 20 reads; the guide subtracts the corners"
ANSWERS: dict[str, _Answer] = {
    "course.blocks of 576/blocks": _Answer(
        lambda: occupancy.occupancy(_OF_1536, 576).blocks, "1536 / 576 is 2.67: two whole blocks"
    ),
    "course.launch/256x4": _Answer(
        lambda: launch.covering((256, 4), (16, 16)).block_count,
        "a quarter-full block is a block too",
    ),
    "course.copies/choice D": _Answer(lambda: 1000 * 512, "a digit is missing"),
    "course.chess/log2 of states": _Answer(lambda: 1024 * 8, "1024 bytes are 8192 bits"),
    "course.chess/log2 of a billion": _Answer(
        lambda: round(np.log2(1e9)), "2^30 is 1.07 billion, 2^32 are 4.3"
    ),
    "course.parameters/biases": _Answer(
        lambda: layers.mlp_parameters([10, 10, 10])[1],
        "two layers of 10 have 20; the key takes 10 as well",
    ),
    "course.core tile/halo accesses": _Answer(lambda: _CORE.halo_accesses, _SWAPPED),
    "course.core tile/shared accesses": _Answer(lambda: _CORE.shared_accesses, _SWAPPED),
    "course.core tile/uses": _Answer(lambda: _CORE.shared_uses, _SWAPPED),
    "course.core tile/global loads": _Answer(lambda: _CORE.global_loads, _SWAPPED),
    "course.core tile/loads per output": _Answer(lambda: _CORE.loads_per_output, _SWAPPED),
    "course.stages/shifts": _Answer(
        lambda: launch.ceil_div(12, 8), "the quotient of integers is 1 before ceil sees it"
    ),
    "course.reduction/passes": _Answer(
        _passes_until_warps_idle, "strides 1 to 32 still have a thread in every warp"
    ),
    "course.reduction warps/idle": _Answer(_idle_share, "at stride 64 every other warp works"),
    "course.scan/step 2": _Answer(
        lambda: work.scan("kogge_stone", 1024).adds,
        "the step scans 1024 section ends, not 4096 elements",
    ),
    "course.brent kung/first": _Answer(
        lambda: 100 * work.brent_kung_coarse(2048, 64).utilisation,
        "4083 additions in 73 part-steps of 64 threads",
    ),
    "course.brent kung/second": _Answer(
        lambda: 100 * work.brent_kung_coarse(2048, 64).utilisation,
        "4083 additions in 73 part-steps of 64 threads",
    ),
    "course.votes/votes": _Answer(lambda: 300e6, "300 million has eight zeros"),
    "course.votes/nanoseconds a millisecond": _Answer(lambda: 1e9 / 1e3, "10e6 is written for 1e6"),
    **{
        f"course.letters/{letter}": _Answer(_letters(letter), f"counted in '{_SENTENCE}'")
        for letter in "aceg"
    },
    "course.atomics/gatomics": _Answer(
        lambda: work.atomics(5, 500, 0.999, 10).gatomics, "one per 5.495 ns"
    ),
    "course.atomics/gflops": _Answer(
        lambda: work.atomics(5, 500, 0.999, 10).gflops, "ten of them per 5.495 ns"
    ),
    "course.sparse/jds-t": _Answer(
        lambda: bounds.bandwidth_rate(160, 6), "the column's index is read too: 6 bytes a FLOP"
    ),
    "course.lane/lane": _Answer(
        lambda: transfers.pcie_bandwidth(8, (128, 130), 1), "it is gigabits a second"
    ),
    "course.transfers/slow-down": _Answer(
        lambda: 1 / transfers.gpu_speedup(0.02, 0.0005, 200e6, 200e6, 16),
        "its own derivation gives a speed-up of 0.78",
    ),
    "course.exam transfers/speed-up": _Answer(
        lambda: transfers.gpu_speedup(0.2, 0.004, 320e6, 320e6, 16), "0.2 s over 44 ms"
    ),
    "course.reuse 1d/128, mask 5": _Answer(lambda: traffic.conv_reuse((128,), (5,)), "640 / 132"),
    "course.reuse 2d/32, mask 5": _Answer(
        lambda: traffic.conv_reuse((32, 32), (5, 5)), "cut off, not rounded"
    ),
    "course.peak 2d/5": _Answer(
        lambda: bounds.tiled_conv_percent((32, 32), (5, 5), 5000, 192), "cut off, not rounded"
    ),
    **{
        f"course.bounds/{tile}": _Answer(_matmul_rate(tile), "reuse x bandwidth / 4 bytes")
        for tile in (1, 16, 32)
    },
    "course.conv example/(2,2)": _Answer(_worked_convolution, "the sum of 25 products"),
}
"""By the id of the printed number."""
REUSE_1D = ((16, 32, 64, 128, 256), (5, 9))
REUSE_2D = ((8, 16, 32, 64), (5, 9))
PEAK_1D, PEAK_2D = (1024, (5, 9, 15, 55)), (32, (3, 5, 7, 9))
"""Tiles and masks of the lecture's tables."""


class ExamTables(Experiment):
    """Every number that can be calculated: no device but a head is needed."""

    name = "exams"
    title = "The course's tables and worked answers, calculated"
    what = (
        "Slides, guides and exams print numbers for launches, occupancy, reuse, scans, atomics and "
        "transfers; some are slips, some were cut off, some contradict their own derivation."
    )
    prefixes = ("course.",)
    needs: ClassVar = {"cpu": (1, 1), "opencl": (1, 1), "cuda": (1, 1)}

    def measure(self, setting: Setting) -> Found:
        """Calculate each printed number, and the lecture's tables for every machine."""
        log = Log()
        for name, answer in ANSWERS.items():
            log.number(name, float(answer.calculate()), "", "printed numbers")
        for dims, (tiles, masks) in ((1, REUSE_1D), (2, REUSE_2D)):
            for mask in masks:
                for tile in tiles:
                    value = traffic.conv_reuse((tile,) * dims, (mask,) * dims)
                    name = f"reuse in {dims}D, tile {tile}, mask {mask}"
                    log.number(name, value, "times", "reuse of internal tiles")
        for one in MACHINES.values():
            for dims, (width, widths) in ((1, PEAK_1D), (2, PEAK_2D)):
                for mask in widths:
                    rates = one.peak_gflops, one.bandwidth_gb_s
                    value = bounds.tiled_conv_percent((width,) * dims, (mask,) * dims, *rates)
                    name = f"{one.name}: {dims}D, tile {width}, mask {mask}"
                    log.number(name, value, "%", "share of peak")
        full = [n for n in (384, 512) if occupancy.occupancy(_OF_1536, n).threads == 1536]
        said = f"blocks of {' and '.join(map(str, full))} do"
        log.claim("one size of block fills a multiprocessor of 1536", len(full) == 1, said)
        return log.found()

    def judge(self, found: Found) -> list[Ruling]:
        """A printed number holds where ours rounds to it."""
        rulings = []
        for one in self.tables():
            for figure in one.figures:
                ours = found.value(figure.id)
                if ours is not None:
                    rulings.append(_ruling(figure, ours, ANSWERS[figure.id].reason))
        return ruled(rulings, self)


def _ruling(figure: Figure, ours: float, reason: str) -> Ruling:
    if rounds_to(ours, figure.value):
        return Ruling(figure, "holds", reason, ours)
    return Ruling(figure, "cannot be", reason, ours)


def rounds_to(ours: float, printed: float) -> bool:
    """Whether a number is as near to a printed one as its last digit says."""
    decimals = len(f"{printed:.10f}".rstrip("0").partition(".")[2])
    return abs(ours - printed) <= 0.5000001 * 10.0**-decimals


EXPERIMENT = ExamTables()
