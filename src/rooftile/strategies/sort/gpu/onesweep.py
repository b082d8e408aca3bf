"""`onesweep`: digits of 8 bits; each pass reads every key once and writes it once. Source: Adinets,
Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs" (arXiv:2206.01784, 2022).
"""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside, stored_beside
from rooftile.analysis.cooperation import chain, increments, warp_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.sort.gpu._base import GpuSort, ends_of

_DIGITS = 256
_CLEARING = 256
"""Threads of a block that clears."""
_COUNTED = 64
"""Keys that a thread counts, at least."""


class Onesweep(GpuSort):
    """Takes every problem.

    It is for CUDA: a tile waits for tiles that were begun before it, so every running block must
    make progress, which OpenCL promises of no work-group.
    """

    name = "onesweep"
    devices = ("cuda",)
    summary = "digits of 8 bits, one read and one write a pass, tiles look back at counts"
    tunables = (
        Tunable("THREADS", (256, 384, 512), 384),
        Tunable("ITEMS", (4, 8, 12, 16, 20), 20),
        Tunable("BLOCKS", (1, 2, 3, 4), 2),
    )

    def defaults(self, problem: Sort) -> dict[str, int]:
        """As many keys as registers hold: the larger a tile, the fewer look back."""
        most = 20 if problem.gives == "values" else 16
        items = most if problem.key_bytes <= 4 else 8
        return {**super().defaults(problem), "ITEMS": items}

    def threads(self, config: Config) -> int:
        return config["THREADS"]

    def shared_bytes(self, problem: Sort, config: Config) -> int:
        """A tile's keys, what moves along, or masks of each warp; and counts of each warp."""
        size = problem.key_bytes if problem.gives == "values" else max(4, problem.key_bytes)
        warps = config["THREADS"] // 32
        tile = max(config["THREADS"] * config["ITEMS"] * size, 4 * _DIGITS * warps)
        return tile + 4 * _DIGITS * (warps + 1) + 4 * (_DIGITS // 32 + 1)

    def tiles(self, problem: Sort, config: Config) -> int:
        """Tiles of a line."""
        return blocks(problem.count, config["THREADS"] * config["ITEMS"])

    def blocks(self, problem: Sort, config: Config) -> int:
        """Tiles of all lines."""
        return problem.lines * self.tiles(problem, config)

    def workspace(self, problem: Sort, config: Config) -> dict[str, int]:
        passes = problem.key_bytes
        return {
            **super().workspace(problem, config),
            "starts": passes * problem.lines * _DIGITS,
            "states": passes * self.blocks(problem, config) * _DIGITS,
            "tickets": passes,
            "moving": passes * problem.lines,
        }

    def steps(self, problem: Sort, config: Config) -> tuple[Step, ...]:
        held, lines, threads = self.workspace(problem, config), problem.lines, config["THREADS"]
        resident = self.machine.multiprocessors
        words = held["starts"], held["states"]
        clearing = min(blocks(words[1], _CLEARING), 8 * resident)
        share = min(blocks(problem.count, threads * _COUNTED), blocks(4 * resident, lines))
        block = (threads, 1, 1)
        clear = Launch(self.kernel("clear"), (clearing, 1, 1), (_CLEARING, 1, 1))
        count = Launch(self.kernel("count_digits"), (lines * share, 1, 1), block)
        scan = Launch(
            self.kernel("scan_digits"), (problem.key_bytes * lines, 1, 1), (_DIGITS, 1, 1)
        )
        sweep = Launch(self.kernel(), (self.blocks(problem, config), 1, 1), block)
        sizes = wide(problem.count, problem.inner, lines)
        found = [
            Step(clear, ("starts", "states", "tickets", "moving", *wide(*words))),
            Step(count, ("x", "starts", *sizes, *wide(share))),
            Step(scan, ("starts", "moving", *wide(problem.count))),
        ]
        tiles = wide(self.tiles(problem, config))
        for number, ends in enumerate(ends_of(problem, problem.key_bytes)):
            arrays = *ends.names, "starts", "states", "tickets", "moving"
            found.append(Step(sweep, (*arrays, number, ends.first, ends.last, *sizes, *tiles)))
        return tuple(found)

    def accesses(self, problem: Sort, config: Config) -> Counted:
        """All digits counted once; then a pass a digit, whose tiles rank their keys by masks and
        look back at the counts of the tile before, if that knows all before it."""
        threads, items, size = config["THREADS"], config["ITEMS"], problem.key_bytes
        count, tiles = problem.lines * problem.count, self.blocks(problem, config)
        held, warps = self.workspace(problem, config), threads // WARP
        counters = self.steps(problem, config)[1].launch.grid[0]
        counting = beside(count, size) + increments(size * count, _DIGITS, counters, shared=True)
        flushed = size * _DIGITS * counters
        turns = blocks(counters, problem.lines)
        counting += Accesses(atomics=flushed, turns=turns, turns_if_equal=turns)
        digits = size * problem.lines * _DIGITS
        scanning = beside(digits) + stored_beside(digits) + warp_tree(_DIGITS, digits // _DIGITS)
        published = size * tiles * _DIGITS
        sweep = self.moved(problem, size) + beside(published) + stored_beside(2 * published)
        sweep += Accesses(
            atomics=size * tiles,
            turns=tiles,
            turns_if_equal=tiles,
            shared_reads=size * (5 * count + _DIGITS * warps * tiles) / WARP,
        )
        sweep += chain(size * (2 * count + _DIGITS * warps * tiles), size * (3 * items + warps))
        return {
            self.kernel("clear"): stored_beside(held["starts"] + held["states"]),
            self.kernel("count_digits"): counting,
            self.kernel("scan_digits"): scanning,
            self.kernel(): sweep,
        }


STRATEGY = Onesweep()
