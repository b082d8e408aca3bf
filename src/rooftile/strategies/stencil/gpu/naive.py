"""`naive`: a thread a cell. Source: PMPP, section 8.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies.common.volumes import PlainStrategy
from rooftile.strategies.contract.gpu import Config, Fill, Step, Tunable


class Naive(PlainStrategy):
    """Takes every problem."""

    operation = "stencil"
    name = "naive"
    summary = "a thread a cell"
    takes = features("boundary:valid")
    reads_weights = True
    tunables = (
        Tunable("BLOCK_Z", (1, 2, 4, 8), 1),
        Tunable("BLOCK_Y", (2, 4, 8), 8),
        Tunable("BLOCK_X", (8, 16, 32), 32),
    )

    def macros(self, problem: Stencil, config: Config) -> dict[str, int | str]:
        points = " ".join(f"use({k}, {d}, {p}, {q})" for k, (d, p, q) in enumerate(problem.places))
        return {**super().macros(problem, config), "EACH_POINT(use)": points}

    def constants(self, problem: Stencil, config: Config) -> dict[str, Fill]:
        return {}

    def packed(
        self, problem: Stencil, parameters: Mapping[str, AnyArray], config: Config
    ) -> dict[str, AnyArray]:
        return dict(parameters)

    def steps(self, problem: Stencil, config: Config) -> tuple[Step, ...]:
        found = []
        for step in super().steps(problem, config):
            source, *others = step.arguments
            launch = replace(step.launch, constants=())
            found.append(Step(launch, (source, "coefficients", *others)))
        return tuple(found)


STRATEGY = Naive()
