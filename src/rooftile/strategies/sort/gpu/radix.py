"""`radix`: digits of 4 bits, the least significant first: histogram, scan, scatter. Source: Satish,
Harris, Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs" (IPDPS 2009), section 3;
PMPP, sections 13.3 to 13.6."""

from __future__ import annotations

from dataclasses import replace

from rooftile.analysis.accesses import WARP, Accesses, Counted, beside, stored_apart, stored_beside
from rooftile.analysis.cooperation import block_scan, chain, in_turn, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.sort.gpu._base import Argument, GpuSort, ends_of

_BITS = 4
_DIGITS = 1 << _BITS


class Radix(GpuSort):
    """Takes every problem."""

    name = "radix"
    summary = "digits of 4 bits: histogram, scan, scatter of tiles that are sorted in shared memory"
    summing = "move"
    # Runs are odd: threads that walk along theirs meet in different banks.
    tunables = (Tunable("BLOCK", (64, 128, 256), 256), Tunable("RUN", (3, 5, 7, 9), 7))

    def shared_bytes(self, problem: Sort, config: Config) -> int:
        """A tile's keys, what moves along, and counts."""
        key = problem.key_bytes + (0 if problem.gives == "values" else 4)
        return config["BLOCK"] * (config["RUN"] * key + 4 * _DIGITS + 4) + 4 * _DIGITS

    def tiles(self, problem: Sort, config: Config) -> int:
        """Tiles of a line."""
        return blocks(problem.count, config["BLOCK"] * config["RUN"])

    def blocks(self, problem: Sort, config: Config) -> int:
        """Tiles of all lines."""
        return problem.lines * self.tiles(problem, config)

    def workspace(self, problem: Sort, config: Config) -> dict[str, int]:
        totals = _DIGITS * self.blocks(problem, config)
        return {**super().workspace(problem, config), "totals": totals}

    def steps(self, problem: Sort, config: Config) -> tuple[Step, ...]:
        block, tiles = (config["BLOCK"], 1, 1), self.tiles(problem, config)
        grid = (self.blocks(problem, config), 1, 1)
        scan = Launch(self.kernel("scan_totals"), (problem.lines, 1, 1), block)
        numbers = wide(problem.count, problem.inner, tiles)
        found = []
        for number, ends in enumerate(ends_of(problem, 8 * problem.key_bytes // _BITS)):
            shift = number * _BITS
            counted: tuple[Argument, ...] = (ends.keys, "totals", ends.first, shift, *numbers)
            moved = (*ends.names, "totals", ends.first, ends.last, shift, *numbers)
            found += [
                Step(Launch(self.kernel("count_digits"), grid, block), counted),
                Step(scan, ("totals", *wide(_DIGITS * tiles))),
                Step(Launch(self.kernel("move"), grid, block), moved),
            ]
        return tuple(found)

    def accesses(self, problem: Sort, config: Config) -> Counted:
        """For each digit: keys are counted, counts are scanned by a block a line, tiles are sorted
        in shared memory and moved."""
        block, run, tiles = config["BLOCK"], config["RUN"], self.blocks(problem, config)
        passes, count = 8 * problem.key_bytes // _BITS, problem.lines * problem.count
        keys = beside(passes * count, problem.key_bytes)
        tree = shared_tree(block // 2, "sequential", passes * tiles, _DIGITS)
        counting = (
            keys + chain(passes * count, passes * run) + stored_apart(passes * tiles * _DIGITS)
        )
        counting += replace(tree, steps=passes * _DIGITS * tree.steps)
        totals = passes * _DIGITS * tiles
        turns = blocks(_DIGITS * self.tiles(problem, config), block)
        within = block_scan("kogge_stone", block, passes * problem.lines * turns)
        between = beside(totals) + stored_beside(totals)
        between += replace(in_turn(within, turns), steps=passes * turns * within.steps)
        within = block_scan("kogge_stone", block, passes * tiles)
        moving = self.moved(problem, passes) + chain(2 * passes * count, 0)
        moving += replace(within, steps=passes * (2 * run + 2 * _DIGITS + within.steps))
        moving += Accesses(shared_reads=(4 * count + 2 * _DIGITS * block * tiles) * passes / WARP)
        return {
            self.kernel("count_digits"): counting,
            self.kernel("scan_totals"): between,
            self.kernel("move"): moving,
        }


STRATEGY = Radix()
