"""The table of activations: all that the package knows of each is one row.

Everything else is made from the rows: the functions of kernels on GPUs
(``strategies/common/activations.h``) and on CPUs (`rooftile.strategies.common.fused`
and `mlp_training`), the names that PyTorch and ONNX have, budgets, and which layers may take a
maximum before their activation.

NaN propagates through every activation.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2 and 6.3; Hendrycks,
Gimpel, "Gaussian Error Linear Units (GELUs)", arXiv 1606.08415 (2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError, check_word, unknown

Array = NDArray[np.floating]

FusedActivation = Literal["none", "relu", "sigmoid", "tanh", "gelu"]
"""The activations that an operation may fuse; ``none`` is the identity."""

Differentiable = Literal[FusedActivation, "softplus"]
"""The activations whose derivative something can be learnt from."""

ActivationName = Literal[Differentiable, "sign"]
"""All activations."""


@dataclass(frozen=True)
class Activation:
    """An elementwise function ``y = value(z)`` with its derivative, in the dtype of its input.

    The derivative is a function of one argument ``t``: of y or of z, as `needs` says.
    """

    name: ActivationName
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    """The derivative as a function of t."""
    c: str = ""
    """The value of a float ``z`` as an expression of CUDA C and of OpenCL; empty: no kernel has
    it."""
    c_slope: str = ""
    """The derivative as an expression of a float ``t``."""
    scalar: str = ""
    """The value of a number ``{z}`` in the CPU's kernel language; REAL is the number's type."""
    scalar_slope: str = ""
    """The derivative as an expression of ``{t}``."""
    scalar_function: str = ""
    """A function of the kernel language that both expressions may call."""
    vector: str = ""
    """The value of a float32 vector ``{z}`` in the CPU's kernel language; empty: there is none."""
    vector_slope: str = ""
    """The derivative as an expression of a vector ``{t}``; ``one`` is a vector of ones."""
    torch: str = ""
    """The class of `torch.nn`; empty: it is no peer's."""
    onnx: str = ""
    """The operator of ONNX; empty: it is no peer's."""
    onnx_version: int = 1
    """The first version of ONNX's operators that has it."""
    needs: Literal["y", "z"] = "y"
    """The derivative's argument: the activation's value y, or its input z."""
    monotone: bool = True
    """True if it never falls, so that a maximum may be taken before it."""
    selects: bool = False
    """True if one instruction computes it, so that kernels apply it anywhere."""
    roundings: float = 1.0
    """Roundings inside the value, in units of float32."""
    terms: Callable[[Array], Array] | None = None
    """The magnitudes of the terms that the derivative adds up, of t; None: the derivative's own."""

    def derivative(self, z: Array, y: Array) -> Array:
        """The derivative at z, where y is the value."""
        return self.slope(z if self.needs == "z" else y)

    def kept(self, z: Array) -> Array:
        """The argument t of the derivative, which a gradient is given, from z."""
        return z if self.needs == "z" else self.value(z)


def _sigmoid(z: Array) -> Array:
    # exp of a non-positive argument cannot overflow.
    e = np.exp(-np.abs(z))
    return np.where(z < 0, e / (1 + e), 1 / (1 + e))


def _softplus(z: Array) -> Array:
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def _normal(z: Array) -> Array:
    """The distribution function of the standard normal distribution."""
    exact = np.frompyfunc(lambda x: 0.5 * math.erfc(x), 1, 1)(np.asarray(z) * -math.sqrt(0.5))
    return np.asarray(exact, z.dtype)


def _density(z: Array) -> Array:
    """The density of the standard normal distribution."""
    density: Array = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return density.astype(z.dtype, copy=False)


_ROWS = (
    Activation(
        "none",
        lambda z: z,
        np.ones_like,
        c="z",
        c_slope="1.0f",
        scalar="{z}",
        scalar_slope="REAL(1.0)",
        vector="{z}",
        vector_slope="one",
        selects=True,
    ),
    Activation(
        "relu",
        lambda z: np.maximum(z, 0),
        lambda y: (y > 0).astype(y.dtype),
        c="relu(z)",
        c_slope="t > 0.0f ? 1.0f : 0.0f",
        scalar="np.where({z} < REAL(0.0), REAL(0.0), {z})",
        scalar_slope="np.where({t} > REAL(0.0), REAL(1.0), REAL(0.0))",
        vector="relu({z})",
        vector_slope="positive({t})",
        torch="ReLU",
        onnx="Relu",
        selects=True,
    ),
    Activation(
        "sigmoid",
        _sigmoid,
        lambda y: y * (1 - y),
        c="sigmoid(z)",
        c_slope="t * (1.0f - t)",
        scalar="sigmoid_of({z})",
        scalar_slope="{t} * (REAL(1.0) - {t})",
        # The exponential of a number that is not positive cannot overflow.
        scalar_function="""
def sigmoid_of(z):
    e = math.exp(-abs(z))
    return np.where(z < REAL(0.0), e, REAL(1.0)) / (REAL(1.0) + e)
""",
        vector="sigmoid({z})",
        vector_slope="multiply({t}, subtract(one, {t}))",
        torch="Sigmoid",
        onnx="Sigmoid",
        roundings=4.0,
        terms=lambda y: np.abs(y) + y * y,
    ),
    Activation(
        "tanh",
        np.tanh,
        lambda y: 1 - y * y,
        c="tanhf(z)",
        c_slope="1.0f - t * t",
        scalar="math.tanh({z})",
        scalar_slope="REAL(1.0) - {t} * {t}",
        vector="tanh({z})",
        vector_slope="subtract(one, multiply({t}, {t}))",
        torch="Tanh",
        onnx="Tanh",
        roundings=4.0,
        terms=lambda y: 1 + y * y,
    ),
    Activation(
        "softplus",
        _softplus,
        lambda y: -np.expm1(-y),
        c="maximum(z, 0.0f) + log1pf(expf(-fabsf(z)))",
        c_slope="1.0f - expf(-t)",
        scalar="softplus_of({z})",
        scalar_slope="REAL(1.0) - math.exp(-{t})",
        scalar_function="""
def softplus_of(z):
    return np.where(z < REAL(0.0), REAL(0.0), z) + math.log1p(math.exp(-abs(z)))
""",
        torch="Softplus",
        onnx="Softplus",
        roundings=4.0,
        terms=lambda y: 1 + np.exp(-y),
    ),
    Activation(
        "gelu",
        lambda z: z * _normal(z),
        lambda z: _normal(z) + z * _density(z),
        c="0.5f * z * erfcf(-0.70710678f * z)",
        c_slope="0.5f * erfcf(-0.70710678f * t) + 0.39894228f * t * expf(-0.5f * t * t)",
        scalar="REAL(0.5) * {z} * math.erfc(REAL(-0.7071067811865476) * {z})",
        scalar_slope="REAL(0.5) * math.erfc(REAL(-0.7071067811865476) * {t})"
        " + REAL(0.3989422804014327) * {t} * math.exp(REAL(-0.5) * {t} * {t})",
        vector="multiply({z}, normal({z}))",
        vector_slope="fma(multiply({t}, splat(float32(0.3989422804014327))),"
        " exp(multiply({t}, multiply({t}, splat(float32(-0.5))))), normal({t}))",
        torch="GELU",
        onnx="Gelu",
        onnx_version=20,
        needs="z",
        monotone=False,
        roundings=4.0,
        # The rounding of an exponent -z^2/2 is as large as z^2 roundings of its exponential.
        terms=lambda z: _normal(z) + np.abs(z) * (1 + z * z) * _density(z),
    ),
    Activation("sign", np.sign, np.zeros_like, onnx="Sign"),
)

ACTIVATIONS: dict[str, Activation] = {row.name: row for row in _ROWS}
"""The table; kernels know an activation by its place here, see `CODES`."""

CODES: dict[str, int] = {name: code for code, name in enumerate(ACTIVATIONS)}
"""The numbers by which kernels know activations."""


def activation(name: str) -> Activation:
    """The activation called ``name``; raises `InputError` for an unknown one."""
    try:
        return ACTIVATIONS[name]
    except (KeyError, TypeError):
        raise unknown("activation", name, sorted(ACTIVATIONS)) from None


def check_fused(name: str) -> None:
    """Raise `InputError` unless ``name`` is an activation that operations fuse."""
    check_word("activation", name, get_args(FusedActivation))


def roundings(name: str) -> float:
    """Roundings inside an activation, in units of float32; the others select, and round once."""
    return activation(name).roundings


def kept(name: str, z: Array) -> Array:
    """The array that a gradient takes of an activation, from its input z: see `Activation.kept`."""
    with np.errstate(invalid="ignore", over="ignore"):
        return activation(name).kept(z).astype(z.dtype, copy=False)


def derivative(name: str, t: Array) -> Array:
    """The derivative of an activation, of its value or of its input, as the table says.

    Raises `InputError` for sign, which has none that anything could be learnt from.
    """
    found = activation(name)
    if name not in get_args(Differentiable):
        raise InputError("activation", repr(name), f"one with a derivative: {name} has none")
    return found.slope(t)


def derivative_terms(name: str, t: Array) -> NDArray[np.float64]:
    """The magnitudes of what the derivative adds up, which an error may be as large as."""
    row, exact = activation(name), t.astype(np.float64)
    terms = np.abs(row.slope(exact)) if row.terms is None else row.terms(exact)
    return terms.astype(np.float64, copy=False)
