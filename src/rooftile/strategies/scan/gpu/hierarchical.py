"""`hierarchical`: sections alone, then their sums, then each adds what is before it.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 11.6.
"""

from __future__ import annotations

from rooftile.analysis.accesses import WARP, Accesses, Counted, broadcasts, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import wide
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.scan.gpu._base import SectionScan, words


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
        """A sum for each section."""
        return {"sums": words(problem, self.blocks(problem, config))}

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        """Three kernels."""
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


STRATEGY = Hierarchical()
