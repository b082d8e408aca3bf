"""PyTorch's gradients, which ours are timed beside, compute the same."""

from __future__ import annotations

import importlib

import pytest

from rooftile.lab.judge.verify import assert_close
from rooftile.ops import Pool
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient

PROBLEMS = (
    *(ActivationGradient(50, kind) for kind in ("none", "relu", "sigmoid", "tanh", "softplus")),
    SoftmaxGradient(4, 6),
    Pool2dGradient(2, 3, 9, 11, Pool.of("max", 3, 2)),
    Pool2dGradient(2, 3, 9, 11, Pool.of("average", (2, 3), (3, 4))),
    Conv2dInputGradient(3, 2, 14, 17, 2, (3, 4), (2, 3), (2, 1)),
    Conv2dInputGradient(4, 2, 14, 17, 3, (3, 4), (1, 2), (2, 1), Pool.of("max", 2)),
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_right(problem):
    torch = pytest.importorskip("torch")
    given = problem.random(0)
    inputs = len(problem.input_arrays)
    peers = importlib.import_module(f"rooftile.strategies.{problem.operation}.peers")
    (module,) = peers.torch_modules(problem, given[inputs:])
    with torch.no_grad():
        made = module(*map(torch.tensor, given[:inputs])).numpy()
    assert_close(problem, made, *given, precision="ieee")
