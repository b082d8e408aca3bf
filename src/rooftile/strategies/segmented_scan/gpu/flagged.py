"""`flagged`: pairs of a value and a flag, scanned like single values. Source: Schwartz,
"Ultracomputers", ACM TOPLAS 2 (1980); Sengupta, Harris, Zhang, Owens, "Scan Primitives for GPU
Computing" (Graphics Hardware 2007)."""

from __future__ import annotations

import numpy as np

from rooftile.analysis.accesses import Counted, beside, broadcasts, stored_apart, stored_beside
from rooftile.analysis.cooperation import chain, in_turn, run_scan
from rooftile.devices.gpu import Launch
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.segmented_scan.gpu.segments import GpuSegmentedScan


class Flagged(GpuSegmentedScan):
    """Takes every associative operator."""

    name = "flagged"
    summary = "pairs of a value and a flag: stretches are summed, then scanned"
    summing = "scan_stretches"
    tunables = (
        Tunable("BLOCK", (64, 128, 256, 512), 256),
        Tunable("RUN", (4, 8, 16), 8),
        Tunable("STRETCHES", (2, 4, 8), 4),
    )

    def invalid(self, problem: SegmentedScan, config: Config) -> str | None:
        slots = config["BLOCK"] * (config["RUN"] + 2)
        return beyond_block(config["BLOCK"], slots * (CARRIED_BYTES[problem.carried] + 1))

    def macros(self, problem: SegmentedScan, config: Config) -> dict[str, int | str]:
        macros = super().macros(problem, config)
        del macros["STRETCHES"]
        return macros

    def stretch(self, problem: SegmentedScan, config: Config) -> int:
        """Elements of a stretch: whole sections, for STRETCHES blocks a multiprocessor."""
        section = config["BLOCK"] * config["RUN"]
        wanted = config["STRETCHES"] * self.machine.multiprocessors
        return section * blocks(problem.count, section * wanted)

    def stretches(self, problem: SegmentedScan, config: Config) -> int:
        return blocks(problem.count, self.stretch(problem, config))

    def workspace(self, problem: SegmentedScan, config: Config) -> dict[str, int]:
        stretches = self.stretches(problem, config)
        values = blocks(stretches * CARRIED_BYTES[problem.carried], 4)
        return {"flags": blocks(problem.count, 4), "sums": values, "cuts": blocks(stretches, 4)}

    def steps(self, problem: SegmentedScan, config: Config) -> tuple[Step, ...]:
        stretches, block = self.stretches(problem, config), config["BLOCK"]

        def launch(kernel: str, grid: int, threads: int = block) -> Launch:
            return Launch(kernel, (grid, 1, 1), (threads, 1, 1))

        words, segments = blocks(problem.count, 4), problem.segments
        count, sizes = np.int64(problem.count), np.int64(self.stretch(problem, config))
        set_flags = launch(self.kernel("set_flags"), blocks(segments, block))
        return (
            Step(launch(self.kernel("clear"), blocks(words, block)), ("flags", np.int64(words))),
            Step(set_flags, ("offsets", "flags", np.int64(segments), count)),
            Step(
                launch(self.kernel("sum_stretches"), stretches),
                ("x", "flags", "sums", "cuts", sizes, count),
            ),
            Step(launch(self.kernel("scan_sums"), 1, 1), ("sums", "cuts", np.int64(stretches))),
            Step(
                launch(self.kernel("scan_stretches"), stretches),
                ("x", "flags", "y", "sums", sizes, count),
            ),
        )

    def accesses(self, problem: SegmentedScan, config: Config) -> Counted:
        """Every element and its flag twice: for the sums of stretches, and for the results."""
        x, offsets, y = problem.arrays
        block, run, stretches = config["BLOCK"], config["RUN"], self.stretches(problem, config)
        size, turns = CARRIED_BYTES[problem.carried], self.stretch(problem, config) // (block * run)
        # A value and a flag are two requests.
        within = run_scan(block, run, blocks(problem.count, block * run), size // 4 + 1)
        within = in_turn(within, turns)
        read = beside(x.size, x.numpy.itemsize) + beside(x.size, 1) + within
        sums = broadcasts(2 * stretches, 1) + stored_apart(stretches) + chain(stretches, stretches)
        return {
            self.kernel("clear"): stored_beside(blocks(problem.count, 4)),
            self.kernel("set_flags"): beside(problem.segments, offsets.numpy.itemsize)
            + stored_apart(problem.segments),
            self.kernel("sum_stretches"): read + stored_apart(2 * stretches),
            self.kernel("scan_sums"): sums,
            self.kernel("scan_stretches"): read + stored_beside(y.size, y.numpy.itemsize),
        }


STRATEGY = Flagged()
