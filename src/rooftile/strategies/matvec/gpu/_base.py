"""The base of the GPU strategies of `matvec`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step
from rooftile.strategies.matmul.gpu.few_rows import FewRows

_CLEAR_THREADS = 256
_MOST = 2**30
_NAMES = {"a": "x", "b": "a", "out": "y"}
"""The names of matmul's arrays here."""


class GpuMatvec(GpuStrategy):
    """A GPU strategy of `matvec`; takes every problem.  Sizes are no macros."""

    operation = "matvec"
    takes = features("transpose")
    wide_indices = True

    def limits(self, problem: Matvec) -> str | None:
        largest = max(problem.rows, problem.columns)
        return f"a size of {largest}: indices are 32-bit" if largest > _MOST else None

    def macros(self, problem: Matvec, config: Config) -> dict[str, int | str]:
        return {"TRANSPOSE": int(problem.transpose), "CLEAR_THREADS": _CLEAR_THREADS, **config}

    def product(self, problem: Matvec, launch: Launch) -> Step:
        """The kernel that reads the matrix."""
        return Step(launch, ("a", "x", "y", problem.rows, problem.columns))

    def clearing(self, problem: Matvec) -> Step:
        """The step before atomics."""
        grid = (blocks(problem.rows, _CLEAR_THREADS), 1, 1)
        return Step(Launch(self.kernel("clear"), grid, (_CLEAR_THREADS, 1, 1)), ("y", problem.rows))


class FewRowsMatvec(GpuStrategy):
    """`few_rows` of matmul for a matrix of one row, x."""

    operation = "matvec"
    takes = features("transpose")
    wide_indices = True
    tunables = FewRows.tunables

    @cached_property
    def rung(self) -> FewRows:
        """matmul's rung, with kernels that are named after this one."""
        rung = FewRows()
        rung.family = self.kernel()
        return rung

    def defaults(self, problem: Matvec) -> dict[str, int]:
        return self.rung.on(self.machine).defaults(as_product(problem))

    def invalid(self, problem: Matvec, config: Config) -> str | None:
        return self.rung.invalid(as_product(problem), config)

    def macros(self, problem: Matvec, config: Config) -> dict[str, int | str]:
        return self.rung.macros(as_product(problem), config)

    def workspace(self, problem: Matvec, config: Config) -> dict[str, int]:
        return self.rung.workspace(as_product(problem), config)

    def accesses(self, problem: Matvec, config: Config) -> Mapping[str, Accesses]:
        return self.rung.accesses(as_product(problem), config)

    def steps(self, problem: Matvec, config: Config) -> tuple[Step, ...]:
        steps = self.rung.steps(as_product(problem), config)
        return tuple(
            replace(step, arguments=tuple(map(_renamed, step.arguments))) for step in steps
        )


def as_product(problem: Matvec) -> Matmul:
    """The product x a^T, of a matrix of one row."""
    return Matmul(1, problem.columns, problem.rows, transpose_b=not problem.transpose)


def _renamed(argument: Any) -> Any:
    return _NAMES.get(argument, argument) if isinstance(argument, str) else argument
