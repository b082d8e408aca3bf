"""Products of woven rows with panels: some rows' numbers that meet a vector are adjacent.

Where a broadcast is a load of its own, it comes from one stream then, which the processor
prefetches.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.strategies.common.panels import Lie
from rooftile.strategies.common.transposition import emit_columns

STEPS = 4
"""Inputs of woven rows that are multiplied in one round of a loop, whose own instructions took a
tenth of the time."""


def emit_weaving(to: Writer, lanes: int, height: int, *, apart: bool = False) -> None:
    """Write ``copy(x, i, stop, inputs, k, length, woven)``: inputs ``k`` to ``k + length - 1`` of
    the rows ``i`` to ``stop - 1``, ``height`` rows' numbers of an input adjacent; the last row
    fills a block.

    Squares are transposed in registers. Stores of a column beyond the rows are overwritten, but for
    the last one's; with ``apart`` nothing is stored there, since others may write it.
    """
    with (
        to.block("def copy(x, i, stop, inputs, k, length, woven):"),
        to.block(f"for row in range(0, stop - i, {height}):"),
    ):
        for r in range(height):
            to.line(f"p{r} = min(i + row + {r}, stop - 1) * inputs + k")
        to.line(f"t, whole = row * length, length // {lanes} * {lanes}")
        with to.block(f"for j in range(0, whole, {lanes}):"):
            columns = emit_columns(to, lanes, lambda r: f"x, p{min(r, height - 1)} + j")
            for e, column in enumerate(columns):
                place = f"woven, t + (j + {e}) * {height}, {column}"
                to.line(f"store_part({place}, {height})" if apart else f"store({place})")
        with to.block("for j in range(whole, length):"):
            to.line(*(f"woven[t + j * {height} + {r}] = x[p{r} + j]" for r in range(height)))
    to.line("", "")


def emit_woven(to: Writer, height: int, width: int, lanes: int, lie: Lie | None) -> None:
    """Write the sums ``s<row>_<panel>`` of ``length`` products of woven rows, from ``x[a]`` on,
    with panels, from ``weights[w]`` on.

    The next rows follow these, and are prefetched a line at a time.
    """
    to.line("whole = 0")
    if width > 1:
        # A panel by itself is rare: no text is spent on it.
        to.line(f"whole = length // {STEPS} * {STEPS}")
        _emit_steps(to, height, width, lanes, lie)
    with to.block("for k in range(whole, length):"):
        to.line(f"near = anchored(x[a + k * {height} :])")
        _emit_step(to, height, width, lanes, 0)


def _emit_steps(to: Writer, height: int, width: int, lanes: int, lie: Lie | None) -> None:
    """Write the loop over several inputs at a time."""
    with to.block(f"for k in range(0, whole, {STEPS}):"):
        to.line(f"near = anchored(x[a + k * {height} :])")
        for line in range(0, height * STEPS, 16):
            to.line(f"prefetch1(near, length * {height} + {line})")
        ahead = {
            None: f"k * {16 // STEPS}",
            "columns": f"k // {STEPS} * apart",
            "rows": f"k // {16 * STEPS} * apart + k // {STEPS} % 16 * 16",
        }
        to.line(f"prefetch2(raw, ahead + {ahead[lie]})")
        for step in range(STEPS):
            _emit_step(to, height, width, lanes, step)


def _emit_step(to: Writer, height: int, width: int, lanes: int, step: int) -> None:
    """Write the products of input ``k + step``, ``near`` of whose images' inputs are."""
    for v in range(width):
        to.line(f"w{v} = load(weights, w + {v * lanes} * length + k * {lanes} + {step * lanes})")
    for i in range(height):
        to.line(f"u = splat_at(near, {step * height + i})")
        to.line(*(f"s{i}_{v} = fma(u, w{v}, s{i}_{v})" for v in range(width)))
