"""What is made from the table of activations, and what must agree with it."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from rooftile.ops.activation import (
    ACTIVATIONS,
    CODES,
    ActivationName,
    Differentiable,
    FusedActivation,
    derivative_terms,
)
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
