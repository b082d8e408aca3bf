"""`recursive`: as many levels of sums as it takes. Source: PMPP, section 11.6; Harris, Sengupta,
Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3 (2007), chapter 39."""

from __future__ import annotations

import itertools

from rooftile.analysis.accesses import Accesses, Counted, beside, stored_beside
from rooftile.analysis.cooperation import chain
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import wide
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.scan.gpu._base import itemsize, words
from rooftile.strategies.scan.gpu.sections import Levels


class Recursive(Levels):
    """Takes every associative operator of numbers that do not have 16 bits."""

    name = "recursive"
    summary = "levels of sums, each scanned as the line is, by as many blocks as it has sections"

    def counts(self, problem: Scan, config: Config) -> list[int]:
        """Sums of a line on each level; the last level has one."""
        found = [self.sections(problem.count, config)]
        while found[-1] > 1:
            found.append(self.sections(found[-1], config))
        return found

    def workspace(self, problem: Scan, config: Config) -> dict[str, int]:
        levels = enumerate(self.counts(problem, config))
        return {f"level_{at}": words(problem, problem.lines * count) for at, count in levels}

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        counts = self.counts(problem, config)
        up, down = [self.first(problem, config, "level_0")], []
        for at, (count, sections) in enumerate(itertools.pairwise(counts)):
            grid, numbers = problem.lines * sections, wide(sections, count)
            level, above = f"level_{at}", f"level_{at + 1}"
            launch = self.launch(self.kernel("scan_level"), grid, config)
            up.append(Step(launch, (level, above, *numbers)))
            if sections > 1:
                launch = self.launch(self.kernel("add_level"), grid, config)
                down.append(Step(launch, (level, above, *numbers)))
        if counts[0] > 1:
            down.insert(0, self.last(problem, config, "level_0"))
        return (*up, *reversed(down))

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """Sections; then each level of sums as often as it has sections, up and down."""
        first, last = self.first_and_last(problem, config)
        up, down = Accesses(), Accesses()
        size, counts = itemsize(problem), self.counts(problem, config)
        for count, sections in itertools.pairwise(counts):
            sums = problem.lines * count
            moved = beside(sums, size) + stored_beside(sums, size) + chain(sums, 0)
            up += moved + self.scanned(problem, config, problem.lines * sections)
            if sections > 1:
                down += moved + chain(0, config["RUN"])
        made = {self.kernel("scan_sections"): first}
        if counts[0] > 1:
            made |= {self.kernel("scan_level"): up, self.kernel("add_sums"): last}
        return {**made, self.kernel("add_level"): down} if down.steps else made


STRATEGY = Recursive()
