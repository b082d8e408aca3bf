"""What every rung of an operation is tested for; an operation's tests say with which problems.

class TestRungs(EveryRung):
    problems = (Rotate((1,)), Rotate((70, 301), -7, "uint8"))
    near = (Rotate((64,)),)
    wrong = Wrong(Rotate((70, 301), 7), ("naive", "j + columns - places", "j"))
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings

from rooftile.lab.judge.exam import Exam
from rooftile.lab.judge.verify import computing, verify
from rooftile.ops import Problem
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.gpu import GpuStrategy
from rooftile.strategies.contract.machine import Multiprocessors
from tests.support.caught import check_caught
from tests.support.compiling import check_compiles
from tests.support.storage import needed

few = settings(
    max_examples=10,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""For examples that are compiled: few, and none is made simpler, since each takes a while."""


class Wrong:
    """Texts with one thing changed, and a problem that gives them away, or else its neighbours."""

    def __init__(self, problem: Problem, *changes: tuple[str, str, str]) -> None:
        """Each change is a rung's name, a part of its text, and what stands there instead."""
        self.problem, self.changes = problem, changes


def changed(operation: str, name: str, before: str, after: str, count: int = -1) -> GpuStrategy:
    """A GPU's rung with one thing changed in its text, the first ``count`` times or always."""
    rung: Any = copy(strategy(operation, name, "cuda"))
    text = rung.whole_text
    assert before in text
    rung.text = text.replace(before, after, count)
    return rung


NOT_HERE = "this processor has no AVX-512"
"""Why a rung of the CPU takes nothing on a processor without its instructions."""


def on(rung: GpuStrategy, device: Any) -> GpuStrategy:
    """A rung with a device's limits, of which shared memory may be less than its text's default."""
    return rung.on(Multiprocessors.of(device.description))


def taken(rung: Any, problems: Sequence[Problem]) -> list[Problem]:
    """Those that a rung takes, which are some; on another processor its tests are skipped.

    A rung of float64 takes the same problems in float64.
    """
    if rung.name == "double":
        problems = [dataclasses.replace(problem, dtype="float64") for problem in problems]  # type: ignore[type-var]
    problems = needed(rung, problems)
    found = [problem for problem in problems if rung.why_not(problem) is None]
    if {rung.why_not(problem) for problem in problems} == {NOT_HERE}:
        pytest.skip(f"{rung.name}: {NOT_HERE}")
    assert found, f"{rung.name} takes none of the problems"
    return found


def extremes(rung: Any, problem: Problem) -> list[dict[str, int]]:
    """Few configs with every tunable's first and last value, of those that can run beside the
    others' defaults: each config is a program to compile, so it has as many of them as can run
    together."""
    configs: list[dict[str, int]] = []
    for tunable in rung.tunables:
        for value in {tunable.values[0], tunable.values[-1]}:
            alone = {tunable.name: value}
            free = (one for one in configs if tunable.name not in one)
            fitting = (one for one in free if _runs(rung, problem, {**one, **alone}))
            if (config := next(fitting, None)) is not None:
                config.update(alone)
            elif _runs(rung, problem, alone):
                configs.append(alone)
    return configs


def _runs(rung: Any, problem: Problem, config: dict[str, int]) -> bool:
    return rung.invalid(problem, rung.config(problem, config)) is None


class EveryRung:
    """Tests of all rungs on the CPU, on OpenCL and on CUDA, and of their texts.

    A rung is bound to problems that it takes, one of each list at least.
    """

    problems: ClassVar[Sequence[Problem]]
    """Small ones of each kind, on and off the grids of tiles."""
    near: ClassVar[Sequence[Problem]]
    """Those whose neighbours are judged too."""
    wrong: ClassVar[Wrong]
    configured: ClassVar[Sequence[Problem]] = ()
    """Those that each tunable's first and last value are tried on; else the last of ``problems``
    that a rung takes."""
    compiled: ClassVar[Sequence[Problem]] = ()
    """Those that NVRTC compiles the texts for; else ``problems``."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        operation, names = self.problems[0].operation, metafunc.fixturenames

        kinds = {"cpu_rung": "cpu", "opencl_rung": "opencl", "gpu_rung": "cuda"}
        for name, kind in kinds.items():
            if name in names:
                rungs = ladder(operation, kind)
                metafunc.parametrize(name, rungs, ids=lambda rung: rung.name)
        if "change" in names:
            ids = [f"{name}-{number}" for number, (name, *_) in enumerate(self.wrong.changes)]
            metafunc.parametrize("change", self.wrong.changes, ids=ids)

    def test_right_on_the_cpu(self, cpu_rung):
        for problem in taken(cpu_rung, self.problems):
            found = verify(problem, cpu_rung, hard=True, neighbours=False)
            assert found.passed, (problem, found)

    def test_right_on_a_gpu(self, gpu_rung, device):
        if device.kind not in gpu_rung.devices:
            pytest.skip(f"its text is for {gpu_rung.devices}")
        if device.kind == "cuda" and (
            reason := gpu_rung.why_not_on(device.description.architecture)
        ):
            pytest.skip(reason)
        problems = taken(on(gpu_rung, device), self.problems)
        # OpenCL has the last one in the next test.
        for problem in problems[:-1] if device.kind == "opencl" else problems:
            found = verify(problem, gpu_rung, device=device, hard=True, neighbours=False)
            assert found.passed, (problem, found)

    def test_right_as_opencls_drivers_optimise(self, opencl_rung, opencl_device, optimised):
        problem = taken(on(opencl_rung, opencl_device), self.problems)[-1]
        found = verify(problem, opencl_rung, device=opencl_device, hard=True, neighbours=False)
        assert found.passed, (problem, found)

    def test_neighbours_are_judged_too_on_the_cpu(self, cpu_rung):
        for problem in taken(cpu_rung, self.near):
            found = verify(problem, cpu_rung)
            assert found.passed, (problem, found)

    def test_neighbours_are_judged_too_on_opencl(self, opencl_rung, opencl_device):
        for problem in taken(on(opencl_rung, opencl_device), self.near):
            found = verify(problem, opencl_rung, device=opencl_device)
            assert found.passed, (problem, found)

    def test_first_and_last_values_of_tunables(self, opencl_rung, opencl_device):
        opencl_rung = on(opencl_rung, opencl_device)
        problems = taken(opencl_rung, self.configured or self.problems)
        for problem in problems if self.configured else problems[-1:]:
            exam = Exam(problem)
            for given in extremes(opencl_rung, problem):
                config = opencl_rung.config(problem, given)
                bound = opencl_rung.bind(problem, exam.parameters, opencl_device, config)
                repeatable = not opencl_rung.atomic
                found = exam.examine(computing(bound), bound.errors, repeatable=repeatable)
                assert found.passed, (problem, config, found)

    def test_wrong_texts_are_caught(self, change, opencl_device, tmp_path):
        wrong = changed(self.problems[0].operation, *change)
        check_caught(wrong, self.wrong.problem, opencl_device, tmp_path)

    def test_compiles_without_spills(self, gpu_rung):
        check_compiles(gpu_rung, self.compiled or self.problems)


class EveryCpuRung(EveryRung):
    """`EveryRung` of an operation that has rungs on the CPU alone."""

    test_right_on_a_gpu = None
    test_right_as_opencls_drivers_optimise = None
    test_neighbours_are_judged_too_on_opencl = None
    test_first_and_last_values_of_tunables = None
    test_wrong_texts_are_caught = None
    test_compiles_without_spills = None
