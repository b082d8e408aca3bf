"""What device memory held before a strategy took it changes no bit of a GPU rung's results.

Whether anything is computed on shared memory that nobody wrote, the emulator sees:
``tests/emulation``.
"""

import math

import numpy as np
import pytest

from rooftile.lab.judge.verify import random_inputs
from rooftile.strategies import ladder
from tests.support.every_rung import changed
from tests.support.ladder_checks import PROBLEMS
from tests.support.unwritten import PATTERNS, ZEROS

from .test_gpu_ladders import SPECIAL_PROBLEMS

CASES = [
    pytest.param(rung, problem, id=f"{problem.operation}-{rung.name}-{number}")
    for number, problem in enumerate((PROBLEMS[2], PROBLEMS[7], *SPECIAL_PROBLEMS.values()))
    for rung in ladder(problem.operation, "opencl")
    if rung.why_not(problem) is None and not rung.atomic
]


def results(rung, problem, device, pattern):
    """The bits of a whole and of a partial batch's results, in memory that held a pattern."""
    x, *parameters = random_inputs(problem, 0)
    allocate = device.allocate

    def filled(nbytes):
        memory = allocate(nbytes)
        device.copy_in(np.full(nbytes // 4, pattern.single, np.uint32), memory)
        return memory

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "allocate", filled)
        bound = rung.bind(problem, parameters, device)
        given, result = device.upload(x), device.allocate(4 * math.prod(problem.output_shape))
        for images in (problem.batch, 1):
            found = np.empty((images, *problem.output_shape[1:]), np.uint32)
            bound.launch((given, result), images)
            device.copy_out(result, found)
            yield found


def check(rung, problem, device):
    expected = list(results(rung, problem, device, ZEROS))
    for name, pattern in PATTERNS.items():
        for one, other in zip(results(rung, problem, device, pattern), expected, strict=True):
            assert np.array_equal(one, other), f"it depends on memory that held {name}"


@pytest.mark.parametrize(("rung", "problem"), CASES)
def test_what_device_memory_held_changes_no_bit(rung, problem, device):
    check(rung, problem, device)


def test_a_result_that_is_not_written_is_caught(device):
    rung = changed("linear", "tiled", "i < rows && j", "i < rows - 1 && j")
    with pytest.raises(AssertionError, match="memory that held"):
        check(rung, SPECIAL_PROBLEMS["linear"], device)
