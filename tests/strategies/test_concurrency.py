"""Calls from several Python threads at once, and from a forked child."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rooftile.devices import cpu

from .strategy_cases import CASES, float32, inputs, usual_case

OPERATIONS = list(CASES)

FORK = """
import os, sys
import numpy as np
sys.path.insert(0, {root!r})
from tests.strategies.strategy_cases import CASES, float32, inputs, usual_case
from rooftile.devices import cpu

def results():
    for operation in CASES:
        for rung in float32(operation):
            problem = usual_case(rung).with_batch(4)
            x, *parameters = inputs(problem, 0, ())
            out = np.full(problem.output_shape, np.nan, np.float32)
            rung.bind(problem, parameters, cpu.open_device(2))(x, out)
            yield operation + "-" + rung.name, out

before = dict(results())  # The threading layer is running now.
child = os.fork()
if child == 0:
    wrong = [name for name, out in results() if not np.array_equal(out, before[name])]
    os._exit(len(wrong))
_, status = os.waitpid(child, 0)
assert status == 0, status
assert all(np.array_equal(out, before[name]) for name, out in results())
print("same", *before)
"""


def test_a_forked_child_computes_the_same():
    script = FORK.format(root=str(Path(__file__).parents[2]))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    rungs = [f"{operation}-{rung.name}" for operation in CASES for rung in float32(operation)]
    assert run.stdout.split() == ["same", *rungs]


@pytest.mark.parametrize(
    "rung", [pytest.param(r, id=f"{op}-{r.name}") for op in OPERATIONS for r in float32(op)]
)
def test_two_threads_may_call_at_once(rung):
    """The same bound strategy, and two of the same problem, each with its own input."""
    problem = usual_case(rung).with_batch(4)
    x, *parameters = inputs(problem, 0, ())
    xs = [x, np.ascontiguousarray(x[::-1])]
    bounds = [rung.bind(problem, parameters, cpu.open_device(2)) for _ in range(2)]
    expected = [_call(problem, bounds[0], x) for x in xs]
    with ThreadPoolExecutor(4) as pool:
        jobs = [(bounds[i // 2 % 2], i % 2) for i in range(40)]
        results = list(pool.map(lambda job: _call(problem, job[0], xs[job[1]]), jobs))
    for (_, which), result in zip(jobs, results, strict=True):
        np.testing.assert_array_equal(result, expected[which])


def _call(problem, bound, x):
    out = np.full(problem.output_shape, np.nan, np.float32)
    bound(x, out)
    return out
