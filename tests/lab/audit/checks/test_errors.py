"""Errors of honest sums pass, and those of fewer bits, or fewer terms, are recognised."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.lab.audit.checks.contents import renewed
from rooftile.lab.audit.checks.errors import rounded_operands, roundings, too_large
from rooftile.lab.audit.checks.rounding import CLAIMS, ROUNDINGS
from rooftile.lab.judge.expected import Expected
from rooftile.ops import Conv2d, Linear
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.reduce import Reduce

LONG, SHORT = Matmul(5, 2**17, 6), Matmul(30, 64, 40)
SUM = Reduce((2**20,))
CONV = Conv2d(2, 12, 20, 21, 8, (3, 3), padding=(1, 1), activation="relu")
HALF = ROUNDINGS["fp16"]


def one_after_the_other(x):
    return np.cumsum(x, dtype=np.float32)[-1:].reshape(())


def in_order(a, b):
    terms = a[:, :, None] * b[None]
    return np.cumsum(terms, axis=1, dtype=np.float32)[:, -1]


def thirteen(values):
    return (np.round(np.frexp(values)[0] * 2**13) / 2**13 * 2.0 ** np.frexp(values)[1]).astype(
        np.float32
    )


HONEST = {
    "a sum, one term after the other": (SUM, one_after_the_other, "ieee"),
    "a sum in pairs": (SUM, lambda x: x.sum(), "ieee"),
    "a long product": (LONG, lambda a, b: a @ b, "ieee"),
    "a long product in order": (Matmul(3, 2**15, 4), in_order, "ieee"),
    "a short product in order": (SHORT, in_order, "ieee"),
    "a convolution": (CONV, lambda *of: rooftile.conv2d(*of, padding=1, activation="relu"), "ieee"),
    "a transform": (
        CONV,
        lambda *given: rooftile.conv2d(
            *given, padding=1, activation="relu", strategy="winograd", precision="fast"
        ),
        "fast",
    ),
    "operands as claimed": (SHORT, lambda a, b: HALF(a) @ HALF(b), "fp16"),
}  # fmt: skip
WRONG = {
    "a long product of 11 bits": (LONG, lambda a, b: HALF(a) @ HALF(b), "ieee"),
    "one operand of 11 bits": (LONG, lambda a, b: HALF(a) @ b, "ieee"),
    "11 bits as a transform": (
        Linear(16, 2048, 30, "relu"),
        lambda x, w, b: np.maximum(HALF(x) @ HALF(w).T + b, 0),
        "fast",
    ),
    "13 bits": (SHORT, lambda a, b: thirteen(a) @ thirteen(b), "ieee"),
    "an eighth of a sum is left out": (SUM, lambda x: x[x.size // 8 :].sum(), "ieee"),
}


def evidence(problem, compute, claim, seed):
    given = renewed(problem, np.random.default_rng(seed))
    out = np.asarray(compute(*given), np.float32)
    assert Expected(problem, *given).judge(out, CLAIMS[claim]).passed or claim == "ieee"
    return rounded_operands(problem, (out,), given, claim), too_large(
        problem, (out,), given, CLAIMS[claim]
    )


@pytest.mark.parametrize("name", HONEST)
def test_honest_errors_pass(name):
    for seed in range(4):
        assert evidence(*HONEST[name], seed) == ("", "")


@pytest.mark.parametrize("name", WRONG)
def test_others_do_not(name):
    assert any(evidence(*WRONG[name], 0))


def test_a_weights_gradient_of_11_bits():
    problem = Conv2dWeightsGradient(4, 2, 20, 21, 3, (3, 3))
    given = problem.random(0)
    rounded = [
        HALF(one) if place.operand else one
        for place, one in zip(problem.given_arrays, given, strict=True)
    ]
    outs = tuple(np.asarray(one, np.float32) for one in problem.reference(*rounded))
    assert "fp16" in rounded_operands(problem, outs, given, "ieee")


def test_what_a_claim_admits_is_not_looked_for():
    assert set(roundings("fp16")) == {"bf16"}
    assert not roundings("bf16")
