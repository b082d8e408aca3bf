"""Printed answers that are slips, or contradict their own derivation: ours, and the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
from rooftile.analysis.machines import EXERCISES

OF_1536 = EXERCISES["1536 threads, 4 blocks"]
"""The exams' multiprocessor."""
_SENTENCE = "Programming Massively Parallel Processors"


def _letters(letter: str) -> Callable[[], float]:
    return lambda: _SENTENCE.lower().count(letter)


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
class Answer:
    """The calculation of a printed number, and its error where it differs."""

    calculate: Callable[[], float]
    reason: str


_CORE = traffic.conv_core((32, 32), (3, 3))
_SWAPPED = "the halo has 360 + 20 reads; the guide subtracts the corners"
ANSWERS: Mapping[str, Answer] = {
    "course.blocks of 576/blocks": Answer(
        lambda: occupancy.occupancy(OF_1536, 576).blocks, "1536 / 576 is 2.67: two whole blocks"
    ),
    "course.launch/256x4": Answer(
        lambda: launch.covering((256, 4), (16, 16)).block_count,
        "a quarter-full block is a block too",
    ),
    "course.copies/choice D": Answer(lambda: 1000 * 512, "a digit is missing"),
    "course.chess/log2 of states": Answer(lambda: 1024 * 8, "1024 bytes are 8192 bits"),
    "course.chess/log2 of a billion": Answer(
        lambda: round(np.log2(1e9)), "2^30 is 1.07 billion, 2^32 are 4.3"
    ),
    "course.parameters/biases": Answer(
        lambda: layers.mlp_parameters([10, 10, 10])[1],
        "two layers of 10 have 20; the key takes 10 as well",
    ),
    "course.core tile/halo accesses": Answer(lambda: _CORE.halo_accesses, _SWAPPED),
    "course.core tile/shared accesses": Answer(lambda: _CORE.shared_accesses, _SWAPPED),
    "course.core tile/uses": Answer(lambda: _CORE.shared_uses, _SWAPPED),
    "course.core tile/global loads": Answer(lambda: _CORE.global_loads, _SWAPPED),
    "course.core tile/loads per output": Answer(lambda: _CORE.loads_per_output, _SWAPPED),
    "course.stages/shifts": Answer(
        lambda: launch.ceil_div(12, 8), "the quotient of integers is 1 before ceil sees it"
    ),
    "course.reduction/passes": Answer(
        _passes_until_warps_idle, "strides 1 to 32 still have a thread in every warp"
    ),
    "course.reduction warps/idle": Answer(_idle_share, "at stride 64 every other warp works"),
    "course.scan/step 2": Answer(
        lambda: work.scan("kogge_stone", 1024).adds,
        "the step scans 1024 section ends, not 4096 elements",
    ),
    "course.brent kung/first": Answer(
        lambda: 100 * work.brent_kung_coarse(2048, 64).utilisation,
        "4083 additions in 73 part-steps of 64 threads",
    ),
    "course.brent kung/second": Answer(
        lambda: 100 * work.brent_kung_coarse(2048, 64).utilisation,
        "4083 additions in 73 part-steps of 64 threads",
    ),
    "course.votes/votes": Answer(lambda: 300e6, "300 million has eight zeros"),
    "course.votes/nanoseconds a millisecond": Answer(lambda: 1e9 / 1e3, "10e6 is written for 1e6"),
    **{
        f"course.letters/{letter}": Answer(_letters(letter), f"counted in '{_SENTENCE}'")
        for letter in "aceg"
    },
    "course.atomics/gatomics": Answer(
        lambda: work.atomics(5, 500, 0.999, 10).gatomics, "one per 5.495 ns"
    ),
    "course.atomics/gflops": Answer(
        lambda: work.atomics(5, 500, 0.999, 10).gflops, "ten of them per 5.495 ns"
    ),
    "course.sparse/jds-t": Answer(
        lambda: bounds.bandwidth_rate(160, 6), "the column's index is read too: 6 bytes a FLOP"
    ),
    "course.lane/lane": Answer(
        lambda: transfers.pcie_bandwidth(8, (128, 130), 1), "it is gigabits a second"
    ),
    "course.transfers/slow-down": Answer(
        lambda: 1 / transfers.gpu_speedup(0.02, 0.0005, 200e6, 200e6, 16),
        "its own derivation gives a speed-up of 0.78",
    ),
    "course.exam transfers/speed-up": Answer(
        lambda: transfers.gpu_speedup(0.2, 0.004, 320e6, 320e6, 16), "0.2 s over 44 ms"
    ),
    "course.conv example/(2,2)": Answer(_worked_convolution, "the sum of 25 products"),
}
"""By the id of the printed number."""
