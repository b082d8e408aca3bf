"""Whatever an argument is: an answer, an error of rooftile's family, or Python's TypeError."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import rooftile

from .valid_calls import CALLS

WRONG = {
    "a number as out": ("activation_gradient", "out", 3),
    "an out that is a view": ("activation_gradient", "out", np.zeros((12, 2), np.float32)[:, 0]),
    "a list as operator": ("argreduce", "operator", [1]),
    "a stride beyond 64 bits": ("pool2d", "stride", 2**63),
    "a stride beyond 32 bits": ("pool2d_winners", "stride", (2**31, 1)),
    "padding beyond float64": ("conv2d", "padding", 10**400),
    "a factor beyond float64": ("axpy", "alpha", 10**400),
    "a divisor beyond 64 bits": ("softmax_cross_entropy", "divisor", 2**63),
    "more steps than 32 bits": ("stencil", "steps", 10**400),
    "an array as a precision": ("conv2d", "precision", np.zeros(2)),
    "an array as a device": ("add", "device", np.zeros(2)),
    "an array as an activation": ("conv2d_input_gradient", "before", np.zeros(2)),
    "an array as a boundary": ("conv3d", "boundary", np.zeros(2)),
    "an array as a flag": ("matmul", "transpose_a", np.zeros(2)),
    "an array as a format": ("sparse", "format", np.zeros(2)),
    "rows of different lengths": ("identify", "values", [[1], [2, 3]]),
    "no packets": ("from_packets", "packets", (1, 2)),
}


@pytest.mark.parametrize(("name", "argument", "value"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument_is_named(name: str, argument: str, value: object) -> None:
    """By an error of the family."""
    with pytest.raises((rooftile.InputError, rooftile.UnsupportedProblem)):
        getattr(rooftile, name)(**{**CALLS[name](12), argument: value})


def test_nothing_is_written_into_an_out_that_is_refused() -> None:
    """A flat copy of it took the result, and the caller's array kept what it had."""
    out = np.full((4, 2), 7, np.float32)[:, 0]
    y = np.ones(4, np.float32)
    with pytest.raises(rooftile.InputError):
        rooftile.activation_gradient(y, y, "relu", out=out)
    assert (out == 7).all()


def test_random_wrong_arguments() -> None:
    """A tenth of all, in a process of its own, whose crash names the call."""
    paths = [path for path in sys.path if path]
    run = subprocess.run(
        [sys.executable, "-m", "tests.functional.hostile_arguments", "44", "1800"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "ROOFTILE_QUIET": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = run.stdout.splitlines()
    assert run.returncode == 0, f"{run.returncode} in {lines[-1:]}: {run.stderr[-1000:]}"
    assert sum(line.startswith("> ") for line in lines) == 1800
    assert [line for line in lines if line.startswith("! ")] == []
