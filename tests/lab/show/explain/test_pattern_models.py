"""Every rung of the patterns says what it reads, writes and computes, and in how many steps."""

from __future__ import annotations

import pytest

from rooftile.ops import named
from rooftile.ops.patterns.compact import Compact
from rooftile.ops.patterns.histogram import Histogram
from rooftile.ops.patterns.reduce import Reduce
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.gpu import of_launches

PROBLEMS = (
    named("reduce", "sum-10^8"),
    named("reduce", "columns-16384"),
    Reduce((7, 1001), 1),
    named("argreduce", "max-2^28"),
    named("argreduce", "columns-16384"),
    named("segmented_reduce", "mean-1000"),
    named("scan", "sum-2^28"),
    named("scan", "rows-16384"),
    named("scan", "columns-16384"),
    Scan((3, 77)),
    named("segmented_scan", "sum-2^20-in-1000"),
    named("histogram", "bytes-2^28"),
    Histogram(10**6, 100_000, dtype="float32"),
    named("compact", "half-2^28"),
    Compact(1000, ordered=False),
    named("sort", "floats-2^26"),
    Sort((3, 1025), gives="pairs"),
    Sort((2, 500, 3), 1, gives="places"),
    named("unique", "runs-2^26"),
    named("partition", "floats-2^28"),
    named("equalize", "picture-8192"),
    named("scatter", "add-10^6-in-1000"),
)
LENGTHS = ("offsets", "edges", "pivot", "kept", "found", "less")
"""Arrays that are no elements."""
each = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.operation}: {p}")


def rungs(problem, kind):
    return [rung for rung in ladder(problem.operation, kind) if rung.why_not(problem) is None]


def check(problem, made):
    given = sum(a.size for a in problem.input_arrays if a.name not in LENGTHS)
    results = sum(a.size for a in problem.output_arrays if a.name not in LENGTHS)
    assert sum(one.loads for one in made.values()) >= 0.999 * given
    assert sum(one.stores + one.atomics for one in made.values()) >= 0.999 * min(results, given)
    elements = problem.input_arrays[0].size
    assert sum(one.operations for one in made.values()) >= 0.9 * elements
    assert sum(one.steps for one in made.values()) >= 1


@each
def test_gpu_rungs(problem):
    seen = []
    for kind in ("cuda", "opencl"):
        for rung in map(of_launches, rungs(problem, kind)):
            config = rung.config(problem)
            steps, made = rung.steps(problem, config), rung.accesses(problem, config)
            kernels = {step.launch.kernel for step in steps}
            assert set(made) == kernels, rung.name
            assert not rung.summing or rung.kernel(rung.summing) in kernels, rung.name
            check(problem, made)
            seen += [tuple(made.values())] if kind == "cuda" else []
    # A rung that says nothing of its own repeats another's numbers; short lines need no levels.
    if getattr(problem, "lines", 1) == 1:
        assert len(set(seen)) == len(seen)


@each
def test_cpu_rungs(problem):
    for rung in rungs(problem, "cpu"):
        check(problem, rung.accesses(problem))


def counted(operation, name, problem, **config):
    rung = of_launches(strategy(operation, name, "cuda"))
    return rung.accesses(problem, rung.config(problem, config))


def test_contention_falls_up_the_ladder_of_histograms():
    problem = named("histogram", "bytes-2^28")
    names = ("strided", "replicated", "privatised", "lanes")
    equal = [counted("histogram", name, problem)[name].turns_if_equal for name in names]
    assert equal == sorted(equal, reverse=True)
    assert equal[0] == problem.count
    assert equal[-1] < problem.count / 5000
    assert counted("histogram", "strided", problem)["strided"].turns == problem.count / 256


def test_bytes_of_scans_are_those_of_the_page():
    """docs/learn/scan.md: 16 bytes an element where sections are written twice, 12, and 8."""
    problem = named("scan", "sum-2^28")
    for name, bytes_ in (("hierarchical", 16), ("sums_first", 12), ("look_back", 8)):
        made = counted("scan", name, problem).values()
        elements = sum(one.loads + one.stores for one in made) / problem.count
        assert bytes_ / 4 <= elements <= 1.1 * bytes_ / 4


def test_steps_of_reductions():
    problem = named("reduce", "sum-10^8")
    tree = counted("reduce", "tree", problem, THREADS=1024)["tree"]
    assert tree.steps == 11
    assert counted("reduce", "naive", problem)["naive"].steps == 10**8
