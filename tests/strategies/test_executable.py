"""Strategies on arrays that lie on the device: fresh weights at each call, in any order."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from rooftile import nn
from rooftile.errors import InputError
from rooftile.lab.judge.verify import assert_close, random_inputs
from rooftile.ops import Chain, Conv2d, Linear, Pool, Pool2d, Softmax
from rooftile.strategies import ladder
from rooftile.strategies.binding.executable import Executable
from rooftile.strategies.binding.packing import Packing

PROBLEMS = (
    Conv2d(3, 1, 12, 21, 4, (7, 7), activation="relu", pool=Pool.of("max", 2)),
    Conv2d(3, 3, 13, 22, 5, (3, 3), padding=(1, 1)),
    Conv2d(2, 37, 9, 18, 6, (3, 3)),
    Linear(3, 37, 11, "relu"),
    Pool2d(3, 2, 12, 13, Pool.of("max", 2)),
    Softmax(3, 17),
    Chain(tuple(nn.architecture("lenet5").problems(2)[:2])),
)


def rungs_of(problem, *kinds):
    """The rungs for these kinds of device that take the problem."""
    rungs = {}
    for kind in kinds:
        with contextlib.suppress(InputError):
            rungs |= {rung.name: rung for rung in ladder(problem.operation, kind)}
    return [rung for rung in rungs.values() if rung.why_not(problem) is None]


def cases(*kinds):
    return [
        pytest.param(rung, problem, id=f"{problem.operation}-{rung.name}-{number}")
        for number, problem in enumerate(PROBLEMS)
        for rung in rungs_of(problem, *kinds)
    ]


CASES = cases("opencl")


def test_every_rung_of_conv2d_is_among_the_cases():
    # A rung that returns the argmax too has another output than `Calls` takes.
    several = Conv2d(2, 1, 12, 12, 2, (3, 3), pool=Pool.of("max", 2), returns=("y", "argmax"))
    others = {rung for rung in ladder("conv2d", "opencl") if rung.why_not(several) is not None}
    assert {c.values[0] for c in CASES} >= others


class Calls:
    """A strategy on the device, called with NumPy arrays that are put there first."""

    def __init__(self, rung, problem, device):
        self.device = device
        self.executable = Executable(Packing(rung.compile(problem, device)))

    def __call__(self, problem, x, parameters):
        device, execution = self.device, self.executable.execution(problem.batch)
        # Poisoned, so that what is read before it is written is noticed.
        sizes = execution.workspace.sizes.values()
        poison = [np.full(nbytes // 4, np.nan, np.float32) for nbytes in sizes]
        given = [None if values is None else device.upload(values) for values in parameters]
        out = np.full(problem.output_shape, np.nan, np.float32)
        result = device.upload(out)
        ends, workspace = [device.upload(x), result], list(map(device.upload, poison))
        execution.start(ends, workspace, given)
        device.copy_out(result, out)
        return out


@pytest.mark.parametrize(("rung", "problem"), CASES)
def test_each_call_takes_its_own_weights_and_number_of_images(rung, problem, opencl_device):
    calls = Calls(rung, problem.with_batch(4), opencl_device)
    for seed, batch in ((1, problem.batch), (2, 1), (3, 4)):
        this = problem.with_batch(batch)
        x, *parameters = random_inputs(this, seed)
        y = calls(this, x, parameters)
        assert_close(this, y, x, *parameters, precision=rung.precision)


@pytest.mark.parametrize(("rung", "problem"), CASES[:3])
def test_no_bias_is_zeros(rung, problem, opencl_device):
    x, weights, bias = random_inputs(problem, 5)
    y = Calls(rung, problem, opencl_device)(problem, x, (weights, None))
    assert_close(problem, y, x, weights, np.zeros_like(bias))


def test_which_calls_share_constant_memory(opencl_device):
    problem = PROBLEMS[0]

    def shares(name):
        rung = next(r for r in ladder("conv2d", "opencl") if r.name == name)
        return Executable(Packing(rung.compile(problem, opencl_device))).shares

    assert shares("constant")
    assert not shares("naive")
    # Its constant memory holds the same whatever the weights are.
    assert not shares("fft")
