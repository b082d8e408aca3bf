"""`direct_tile` that says which sum of each max-pool's window is the largest, for training."""

from __future__ import annotations

from dataclasses import replace

from rooftile.ops import Array, Conv2d
from rooftile.strategies.conv2d.ends import beyond_zeros
from rooftile.strategies.conv2d.gpu.direct_tile.direct_tile import DirectTile
from rooftile.strategies.gpu import Config, Step

_MANY_IMAGES = 512
_REGISTERS = 96
"""Of a thread: its sums, a row of its patch, and what the two are found with."""


class DirectTileWinners(DirectTile):
    """Takes max-pools with nothing behind them, whose windows tile the image.

    Behind its result it holds ``where``, the places of the winners in the convolution: row *
    columns + column, int32, as `pool2d_winners` finds them.
    """

    name = "direct_tile_winners"
    source = "direct_tile"
    summary = "the direct tile, and the places of its pool's winners"

    def why_not(self, problem: Conv2d) -> str | None:
        """See `DirectTile.why_not`; and other pools."""
        pool = problem.pool
        if pool is None or pool.kind != "max" or pool.activation != "none":
            return "it is for a maximum with nothing behind it"
        return super().why_not(problem) or beyond_zeros(problem)

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """Those of `direct_tile`; but few images have their taps in shared memory, since to fill
        constant memory, in every step, takes as long as they do.  A thread then has one window."""
        config = {**super().defaults(problem), "BLOCK_BANDS": 1}
        if config["TAPS_CONSTANT"] and problem.batch >= _MANY_IMAGES:
            return config
        config |= {"TAPS_CONSTANT": 0, "THREAD_COLUMNS": 1, "BAND_ROWS": 1}
        for rows in (2, 4, 8, 16):
            grown = {**config, "BAND_ROWS": rows}
            if self._worth(problem, grown) and self.invalid(problem, grown) is None:
                config = grown
        threads = problem.output_size[1] * config["BAND_ROWS"] * config["BLOCK_GROUPS"]
        resident = self.machine.registers // (_REGISTERS * threads)
        return config | {"LEAST_BLOCKS": max(1, min(8, resident))}

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """And how wide the convolution is."""
        wide = {"WINNERS": 1, "CONV_COLUMNS": problem.conv_size[1]}
        return {**super().macros(problem, config), **wide}

    def held(self, problem: Conv2d, config: Config) -> tuple[Array, ...]:
        """x, the result and the places."""
        x, out = super().held(problem, config)
        return x, out, replace(out, name="where", dtype="int32")

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel, which is given one array more."""
        (step,) = super().steps(problem, config)
        return (replace(step, arguments=(*step.arguments, "where")),)


WINNERS = DirectTileWinners()
