"""What is made from the table of activations, and what must agree with it."""

from __future__ import annotations

import dataclasses
from typing import get_args

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops import Conv2d, Pool
from rooftile.ops.activation import (
    ACTIVATIONS,
    CODES,
    ActivationName,
    Differentiable,
    FusedActivation,
    derivative_terms,
)
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.strategies import ladder, strategy
from rooftile.strategies.common.activation_texts import HEADER, header

FUSED = get_args(FusedActivation)


def test_the_header_is_what_the_table_makes():
    """After a change of the table: python -m rooftile.strategies.common.activation_texts"""
    assert HEADER.read_text(encoding="utf-8") == header()


def test_the_names_are_those_of_the_rows():
    assert set(ACTIVATIONS) == set(get_args(ActivationName))


@pytest.mark.parametrize("name", get_args(Differentiable))
def test_kernels_have_every_activation_with_a_derivative(name):
    row = ACTIVATIONS[name]
    assert all((row.c, row.c_slope, row.scalar, row.scalar_slope))
    # Texts of the CPU ask for a code above 1 where vectors in registers do not do.
    assert row.selects == (CODES[name] <= 1)


@pytest.mark.parametrize("name", FUSED)
def test_fused_activations_have_vectors_and_names_elsewhere(name):
    row = ACTIVATIONS[name]
    assert row.vector
    assert row.vector_slope
    if name != "none":
        assert row.torch
        assert row.onnx


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_only_what_never_falls_is_called_monotone(name):
    y = ACTIVATIONS[name].value(np.linspace(-30.0, 30.0, 6001))
    assert ACTIVATIONS[name].monotone == bool((np.diff(y) >= 0).all())


@pytest.mark.parametrize("name", get_args(Differentiable))
def test_a_derivative_is_no_larger_than_its_terms(name):
    row, z = ACTIVATIONS[name], np.linspace(-9.0, 9.0, 181)
    terms = derivative_terms(name, row.kept(z))
    assert (np.abs(row.derivative(z, row.value(z))) <= terms * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", FUSED)
def test_pytorch_has_the_same_function(name):
    torch = pytest.importorskip("torch")
    if name == "none":
        return
    z = np.linspace(-9.0, 9.0, 181)
    of_torch = getattr(torch.nn, ACTIVATIONS[name].torch)()(torch.tensor(z)).numpy()
    np.testing.assert_allclose(of_torch, ACTIVATIONS[name].value(z), rtol=1e-12, atol=1e-15)


FOLDS = Conv2d(64, 2, 24, 24, 16, (5, 5), activation="gelu", pool=Pool.of("max", 2))
"""A problem whose pool many rungs take before an activation that rises."""


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_rungs_that_pool_before_activating_refuse_what_falls(kind):
    rises = dataclasses.replace(FOLDS, activation="tanh")
    average = dataclasses.replace(FOLDS, pool=Pool.of("average", 2))
    refused = {
        rung.name.partition("_fp16")[0]
        for rung in ladder("conv2d", kind)
        if rung.why_not(FOLDS) and not rung.why_not(rises)
    }
    if kind == "cpu":
        assert refused == {"map_vectors", "winograd"}
    else:
        assert {"implicit_gemm", "pool_folded", "pool_folded_ieee"} <= refused
        rung = strategy("conv2d", "implicit_gemm_fp16", "cuda")
        assert "maximum before gelu" in rung.why_not(FOLDS)
        assert rung.why_not(average) is None


def test_gradients_do_not_take_a_value_for_an_input():
    with pytest.raises(InputError, match="x does not tell the derivative"):
        LinearGradient(3, 4, 5, before="gelu")
    assert LinearGradient(3, 4, 5, "gelu").activation == "gelu"
