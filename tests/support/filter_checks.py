"""What the tests of `conv1d` and `separable` share."""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices import cpu
from tests.support.unwritten import assert_same_bits, computes_on_new_memory


def check_new_memory(rung, problem):
    """What new memory holds changes no bit of a result, and nothing computes on it."""
    x, *parameters = problem.random(0)
    shape = problem.output_arrays[0].shape[1:]

    def bind():
        return rung.bind(problem, parameters, cpu.open_device(1))

    assert_same_bits(bind, (x, x[:1]), shape)
    assert not computes_on_new_memory(bind, x, shape)


def same_for_all_threads_and_places(rung, problem):
    """The number of threads and where the result lies change no bit."""
    x, *parameters = problem.random(1)
    size = math.prod(problem.output_arrays[0].shape)
    results = []
    for threads, skew in ((1, 0), (2, 0), (3, 5), (2, 15)):
        room = cpu.allocate(size + 16)
        out = room[skew : skew + size].reshape(problem.output_arrays[0].shape)
        rung.bind(problem, parameters, cpu.open_device(threads))(x, out)
        results.append(out.view(np.uint32))
    assert all((one == results[0]).all() for one in results)
