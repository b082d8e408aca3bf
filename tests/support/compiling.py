"""NVRTC in tests: what a rung's kernels take of an architecture; no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from rooftile.devices.cuda.compile import compile_cubin, cuda_core, specific
from rooftile.devices.cuda.cubin import Taken, resources
from rooftile.errors import DeviceMissing
from rooftile.ops import Problem
from rooftile.strategies import ladder
from rooftile.strategies.contract.gpu import GpuStrategy
from tests.support.storage import needed, stored_by

MEASURED = "sm_90"
"""The architecture on which rungs were timed."""
OLDER = ("sm_75", "sm_80")
NEWEST = "sm_100"
_REGISTERS_PER_BLOCK = 65536


def compiled(
    rung: GpuStrategy, problem: Problem, architecture: str, config: Mapping[str, int] | None = None
) -> dict[str, Taken]:
    """What each kernel takes; its blocks get the registers that they want."""
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    problem, config = stored_by(rung, problem, config)
    values = rung.config(problem, config)
    assert rung.invalid(problem, values) is None, (problem, values)
    macros = rung.defines(problem, values)
    taken = resources(compile_cubin(rung.text, macros, specific(architecture), rung.folders))
    for step in (*rung.preparation(problem, values), *rung.steps(problem, values)):
        registers = taken[step.launch.kernel].registers
        assert registers * step.launch.threads <= _REGISTERS_PER_BLOCK, (problem, step)
    return taken


def check_no_spills(
    rung: GpuStrategy, problem: Problem, architecture: str, config: Mapping[str, int] | None = None
) -> None:
    """All that a thread holds is in registers."""
    taken = compiled(rung, problem, architecture, config)
    spilled = {name: kernel.frame_bytes for name, kernel in taken.items() if kernel.frame_bytes}
    assert not spilled, (problem, architecture, spilled)


def other_architectures(rung: GpuStrategy) -> list[str]:
    """The oldest that a rung for CUDA alone compiles for, and the newest for a ladder's last one at
    a precision.

    What a text asks of its architecture, it asks in `prelude.h` and `tf32.h`, and not of shapes; a
    text for OpenCL too asks nothing.
    """
    alone = rung.devices == ("cuda",)
    older = [one for one in OLDER if alone and rung.why_not_on(one) is None]
    rungs = [one for one in ladder(rung.operation, "cuda") if one.why_not_on(NEWEST) is None]
    last = {one.precision: one.name for one in rungs}
    return older[:1] + ([NEWEST] if last.get(rung.precision) == rung.name else [])


def check_compiles(rung: GpuStrategy, problems: Iterable[Problem]) -> None:
    """Without spills: every problem that a rung takes for the architecture that was measured, the
    first of them for the others.

    Only the first at bfloat16: its rungs have the texts of those at float16, numbers as wide in
    instructions of the same shapes.
    """
    taken = [one for one in needed(rung, problems) if rung.why_not(one) is None]
    assert taken, f"{rung.name} takes none of them"
    if rung.precision == "bf16":
        check_no_spills(rung, taken[0], MEASURED)
        return
    for architecture in other_architectures(rung):
        check_no_spills(rung, taken[0], architecture)
    for problem in taken:
        check_no_spills(rung, problem, MEASURED)
