"""The base of the CPU's strategies of `spmm`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source, values_of
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.sparse.spmm import Spmm
from rooftile.strategies import HostStrategy


class CpuSpmm(HostStrategy):
    """A kernel whose units are rows of the result."""

    operation = "spmm"
    takes = features("dtype:* index:int64")
    text: ClassVar[str]
    flags: ClassVar[str] = ""

    def units(self, problem: Spmm) -> int:
        return problem.rows

    def prepare(
        self, problem: Spmm, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        dtypes = tuple(values_of(array.dtype) for array in problem.arrays)
        run = _spread(self.text.replace("ZERO", f"np.{problem.summed}(0.0)"), dtypes, self.flags)
        sizes = cpu.sizes_of(problem.width)
        count = threads if self.parallel else 1

        def call(*arrays: AnyArray) -> None:
            run(arrays, sizes, problem.rows, count)

        return call


@last_kernels
def _spread(text: str, dtypes: tuple[str, ...], flags: str) -> cpu.Spread:
    return cpu.Spread(source("spmm", text, flags=flags), dtypes)
