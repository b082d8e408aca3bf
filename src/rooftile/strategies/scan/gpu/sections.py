"""Sections of a line, one for each block, and the kernels that join them.

Source: Kogge, Stone, "A Parallel Algorithm for the Efficient Solution of a General Class of
Recurrence Equations", IEEE TC C-22 (1973); Kirk, Hwu, El Hajj, section 11.2; PMPP, section 11.2
(double buffering); Brent, Kung, "A Regular Layout for Parallel Adders", IEEE TC C-31 (1982); Kirk,
Hwu, El Hajj, section 11.4; section 11.5; section 11.6.
"""

from __future__ import annotations

from dataclasses import replace

from rooftile.analysis.accesses import WARP, Accesses, Counted, broadcasts, stored_beside
from rooftile.analysis.cooperation import block_scan, chain
from rooftile.ops.features import features
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.scan.gpu._base import LineScan, SectionScan, itemsize, words


class KoggeStone(LineScan):
    """Takes every associative operator."""

    name = "kogge_stone"
    summary = "a block a line, passes over sections, two barriers a pass"

    def shared_bytes(self, problem: Scan, config: Config) -> int:
        """An element a thread."""
        return config["BLOCK"] * itemsize(problem)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Passes over sections of an element a thread."""
        section = config["BLOCK"]
        count = problem.lines * blocks(problem.count, section)
        made = block_scan("kogge_stone", section, count, itemsize(problem) // 4)
        return self.by_sections(problem, section, made)


class KoggeStoneDouble(LineScan):
    """Takes every associative operator."""

    name = "kogge_stone_double"
    summary = "the passes from one buffer into another, one barrier each"

    def shared_bytes(self, problem: Scan, config: Config) -> int:
        """Two buffers."""
        return 2 * config["BLOCK"] * itemsize(problem)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Passes over sections; threads without a neighbour copy, so that no warp idles."""
        block, words = config["BLOCK"], itemsize(problem) // 4
        count = problem.lines * blocks(problem.count, block)
        made = block_scan("kogge_stone", block, count, words)
        reads = 2 * words * block / WARP * (block - 1).bit_length() * count
        return self.by_sections(problem, block, replace(made, shared_reads=reads))


class BrentKung(LineScan):
    """Takes every associative operator."""

    name = "brent_kung"
    summary = "a tree up and down, fewer than two combinations an element"

    def shared_bytes(self, problem: Scan, config: Config) -> int:
        """Two elements a thread."""
        return 2 * config["BLOCK"] * itemsize(problem)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Passes over sections of two elements a thread."""
        section = 2 * config["BLOCK"]
        count = problem.lines * blocks(problem.count, section)
        made = block_scan("brent_kung", section, count, itemsize(problem) // 4)
        return self.by_sections(problem, section, made)


class ThreePhase(SectionScan):
    """Takes every associative operator."""

    name = "three_phase"
    summary = "a run of elements a thread, passes over the runs' ends alone"
    takes = features("axis dtype:* exclusive operator.commutative operator:* reverse")

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        launch = self.launch(self.kernel(), problem.lines, config)
        return (Step(launch, ("x", "y", *wide(problem.count, problem.inner))),)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """A line's sections follow each other in one block."""
        turns = self.sections(problem.count, config)
        made = self.scanned(problem, config, problem.lines * turns, turns)
        return {self.kernel(): self.copied(problem) + made}


class Levels(SectionScan):
    """Sections are scanned into y, and what is before each is added later: y may not have 16 bits,
    which would round a result twice."""

    def blocks(self, problem: Scan, config: Config) -> int:
        """Sections of all lines."""
        return problem.lines * self.sections(problem.count, config)

    def first_and_last(self, problem: Scan, config: Config) -> tuple[Accesses, Accesses]:
        """The accesses of these two kernels: y is written, read, and written again."""
        count, made = self.blocks(problem, config), self.copied(problem)
        first = made + self.scanned(problem, config, count) + stored_beside(count)
        later = problem.lines * max(0, self.sections(problem.count, config) - 1)
        last = broadcasts(later * config["BLOCK"] / WARP) + chain(0, config["RUN"])
        return first, made + last

    def first(self, problem: Scan, config: Config, sums: str) -> Step:
        """Each section alone."""
        launch = self.launch(self.kernel("scan_sections"), self.blocks(problem, config), config)
        numbers = wide(self.sections(problem.count, config), problem.count, problem.inner)
        return Step(launch, ("x", "y", sums, *numbers))

    def last(self, problem: Scan, config: Config, sums: str) -> Step:
        """The step that adds to each section the sum of the sections before it."""
        launch = self.launch(self.kernel("add_sums"), self.blocks(problem, config), config)
        numbers = wide(self.sections(problem.count, config), problem.count, problem.inner)
        return Step(launch, ("y", sums, *numbers))


class Hierarchical(Levels):
    """Takes every associative operator of numbers that do not have 16 bits."""

    name = "hierarchical"
    summary = "three kernels: sections, their sums, and what is before each section"

    def workspace(self, problem: Scan, config: Config) -> dict[str, int]:
        return {"sums": words(problem, self.blocks(problem, config))}

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        launch = self.launch(self.kernel("scan_sums"), problem.lines, config)
        between = Step(launch, ("sums", *wide(self.sections(problem.count, config))))
        return (
            self.first(problem, config, "sums"),
            between,
            self.last(problem, config, "sums"),
        )

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Sections, their sums, and what is before each."""
        first, last = self.first_and_last(problem, config)
        sums = self.scanned_sums(problem, config, self.sections(problem.count, config))
        return {
            self.kernel("scan_sections"): first,
            self.kernel("scan_sums"): sums,
            self.kernel("add_sums"): last,
        }


STRATEGIES = (KoggeStone(), KoggeStoneDouble(), BrentKung(), ThreePhase(), Hierarchical())
