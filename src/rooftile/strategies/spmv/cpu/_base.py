"""The base of the CPU's strategies of `spmv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.sparse.rows import Form
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies import HostStrategy
from rooftile.strategies.spmv.cpu._texts import rows_kernel, sizes_of


class CpuSpmv(HostStrategy):
    """A CPU strategy of `spmv` for some formats."""

    operation = "spmv"
    takes = features("dtype:* form:bsr,coo,csc,dia,ell,hybrid,jds,jds_t index:int64 updated")
    forms: ClassVar[tuple[Form, ...]]

    def limits(self, problem: Spmv) -> str | None:
        if problem.form in self.forms:
            return "tiles are for GPUs" if problem.tiled else None
        return f"it is for {', '.join(self.forms)}, not for {problem.form}"


class RowSpmv(CpuSpmv):
    """One whose units are rows."""

    flags: ClassVar[str] = ""
    """Liberties of its arithmetic, see `rooftile.devices.cpu.native`."""

    def units(self, problem: Spmv) -> int:
        return problem.rows

    def prepare(
        self, problem: Spmv, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        run, sizes = rows_kernel(problem, self.flags), sizes_of(problem)
        count = threads if self.parallel else 1

        def call(*arrays: AnyArray) -> None:
            run(arrays, sizes, problem.rows, count)

        return call
