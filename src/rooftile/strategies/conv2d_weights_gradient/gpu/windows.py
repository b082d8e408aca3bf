"""`windows`: a thread keeps a mask's sums in registers while windows pass.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010 (only the argmax has a gradient); Volkov, Demmel, "Benchmarking GPUs to Tune Dense Linear
Algebra", SC08 (sums in registers).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.grid import PORTABLE_SHARED_BYTES, blocks
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d_weights_gradient.gpu._base import (
    PartialSums,
)

_TEAM = 64
_MOST_TAPS = 56
"""Sums that a thread's registers hold with a row of pixels."""
_BANKS = 32
_RESIDENT = 3
"""Blocks of a multiprocessor, by their registers."""
_ROUNDS = 2
"""The most in which all threads' sums are joined."""


class Windows(PartialSums):
    """Takes argmax gradients; a mask's sums fit registers, and a channel shared memory."""

    name = "windows"
    summary = "a thread keeps a mask's sums in registers, whole gradients pass"
    tunables = (Tunable("TEAMS", (1, 2, 4), 4), Tunable("PARTS", (1, 2, 4), 1))
    # To find pixels by a position of 8 bits takes 0.05 ms more of 0.5 than it saves elsewhere.
    stores: ClassVar[Mapping[str, str]] = {}

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        if problem.pool is None:
            return "it is for gradients behind a max-pool"
        if (taps := math.prod(problem.mask)) >= _MOST_TAPS:
            return f"{taps} taps, registers hold fewer than {_MOST_TAPS}"
        if (nbytes := 4 * _held(problem, 1)) > PORTABLE_SHARED_BYTES:
            return f"a channel takes {nbytes} bytes of shared memory of {PORTABLE_SHARED_BYTES}"
        return None

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """As many maps as share an image's pixels, unless too few blocks are left then; images
        are halved where each multiprocessor has a block at most."""
        wanted, teams = self.machine.multiprocessors * 3 // 4, 1
        for more in (2, 4):
            beside = problem.images * problem.channels * blocks(problem.maps, more)
            if more <= problem.maps and self._fits(problem, more) and beside >= wanted:
                teams = more
        beside = problem.images * problem.channels * blocks(problem.maps, teams)
        return {"TEAMS": teams, "PARTS": 2 if beside <= self.machine.multiprocessors else 1}

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        return None if self._fits(problem, config["TEAMS"]) else "shared memory for these teams"

    def _fits(self, problem: Conv2dWeightsGradient, teams: int) -> bool:
        return 4 * _held(problem, teams) <= PORTABLE_SHARED_BYTES

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        (rows, pitch), held = _tile(problem), _held(problem, config["TEAMS"])
        joined = min(held // _apart(config["TEAMS"]), _sums(problem))
        lie = {"TILE_ROWS": rows, "PITCH": pitch, "HELD": held, "JOINED": joined}
        return {**super().macros(problem, config), **lie}

    def launch(self, problem: Conv2dWeightsGradient, config: Config) -> Launch:
        grid = (self.rows(problem, config), blocks(problem.maps, config["TEAMS"]), problem.channels)
        block = _TEAM, config["TEAMS"], 1
        return Launch(self.kernel(), grid, block, overlaps=True, concurrent=True)

    def rows(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks that share out the images."""
        parts = config["PARTS"]
        beside = blocks(problem.maps, config["TEAMS"]) * problem.channels * parts
        most = self.machine.multiprocessors * _RESIDENT * 4 // config["TEAMS"]
        return min(problem.images, max(1, most // beside)) * parts


def _tile(problem: Conv2dWeightsGradient) -> tuple[int, int]:
    """Rows and pitch of a channel, and of the pairs of pixels that the last output reads."""
    (above, left), (_, wide) = problem.padding, problem.mask
    read = (problem.layer.conv_size[1] - 1) // 2 * 2 + (wide + 2) // 2 * 2
    columns = max(problem.width + 2 * left, read)
    return problem.height + 2 * above, blocks(columns, _BANKS) * _BANKS


def _sums(problem: Conv2dWeightsGradient) -> int:
    """Of a thread: a mask's, and the bias."""
    return math.prod(problem.mask) + 1


def _apart(teams: int) -> int:
    """From a sum of all threads to the next."""
    return teams * (_TEAM + 1)


def _held(problem: Conv2dWeightsGradient, teams: int) -> int:
    """Numbers in shared memory: a channel's, and later threads' sums."""
    return max(math.prod(_tile(problem)), blocks(_sums(problem), _ROUNDS) * _apart(teams))


STRATEGY = Windows()
