"""`three_phase`: a run of elements a thread, loaded with the corner turned.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 11.5.
"""

from __future__ import annotations

from rooftile.analysis.accesses import Counted
from rooftile.ops.features import features
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies.common.grid import wide
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.scan.gpu._base import SectionScan


class ThreePhase(SectionScan):
    """Takes every associative operator."""

    name = "three_phase"
    summary = "a run of elements a thread, passes over the runs' ends alone"
    takes = features("axis dtype:* exclusive operator.commutative operator:* reverse")

    def steps(self, problem: Scan, config: Config) -> tuple[Step, ...]:
        """One kernel, a block a line."""
        launch = self.launch(self.kernel(), problem.lines, config)
        return (Step(launch, ("x", "y", *wide(problem.count, problem.inner))),)

    def accesses(self, problem: Scan, config: Config) -> Counted:
        """A line's sections follow each other in one block."""
        turns = self.sections(problem.count, config)
        made = self.scanned(problem, config, problem.lines * turns, turns)
        return {self.kernel(): self.copied(problem) + made}


STRATEGY = ThreePhase()
