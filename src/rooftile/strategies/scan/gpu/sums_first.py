"""`sums_first`: sums of stretches first, then each is scanned with what is before it. Source:
Merrill, Grimshaw, "Parallel Scan for Stream Architectures" (University of Virginia, CS2009-14,
2009): reduce, then scan."""

from __future__ import annotations

from dataclasses import replace

from rooftile.analysis.accesses import WARP, Counted, broadcasts, stored_apart
from rooftile.ops.features import features
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import blocks, wide
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.scan.gpu._base import BLOCKS, RUNS, SectionScan, words


class SumsFirst(SectionScan):
    """Takes every associative operator."""

    name = "sums_first"
    summary = "stretches are summed, then scanned with what is before them: x is read twice"
    takes = features("axis dtype:* exclusive operator.commutative operator:* reverse")
    summing = "scan_stretches"
    tunables = (BLOCKS, RUNS, Tunable("STRETCHES", (2, 4, 8, 16), 8))

    def stretch(self, problem: Scan, config: Config) -> int:
        """Elements of a stretch: whole sections, such that STRETCHES blocks a multiprocessor take
        all lines."""
        section = config["BLOCK"] * config["RUN"]
        wanted = blocks(config["STRETCHES"] * self.machine.multiprocessors, problem.lines)
        return section * blocks(problem.count, section * wanted)

    def stretches(self, problem: Scan, config: Config) -> int:
        """Stretches of a line."""
        return blocks(problem.count, self.stretch(problem, config))

    def blocks(self, problem: Scan, config: Config) -> int:
        """Stretches of all lines."""
        return problem.lines * self.stretches(problem, config)

    def macros(self, problem: Scan, config: Config) -> dict[str, int | str]:
        macros = super().macros(problem, config)
        del macros["STRETCHES"]
        return macros

    def workspace(self, problem: Scan, config: Config) -> dict[str, int]:
        return {"sums": words(problem, self.blocks(problem, config))}

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        grid, stretches = self.blocks(problem, config), self.stretches(problem, config)
        sizes = self.stretch(problem, config), problem.count, problem.inner
        numbers = wide(stretches, *sizes)
        last = Step(
            self.launch(self.kernel("scan_stretches"), grid, config), ("x", "y", "sums", *numbers)
        )
        if stretches == 1:
            return (last,)
        return (
            Step(self.launch(self.kernel("sum_stretches"), grid, config), ("x", "sums", *numbers)),
            Step(
                self.launch(self.kernel("scan_sums"), problem.lines, config),
                ("sums", *wide(stretches)),
            ),
            last,
        )

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Every element twice, every result once."""
        stretches, count = self.stretches(problem, config), self.blocks(problem, config)
        turns = self.sections(min(problem.count, self.stretch(problem, config)), config)
        sections = problem.lines * self.sections(problem.count, config)
        within = self.scanned(problem, config, sections, turns)
        made = self.copied(problem)
        if stretches == 1:
            return {self.kernel("scan_stretches"): made + within}
        first = replace(made, stores=0, store_sectors=0) + within + stored_apart(count)
        sums = self.scanned_sums(problem, config, stretches)
        read = made + within + broadcasts(count * config["BLOCK"] / WARP)
        return {
            self.kernel("sum_stretches"): first,
            self.kernel("scan_sums"): sums,
            self.kernel("scan_stretches"): read,
        }


STRATEGY = SumsFirst()
