"""Operators of the caller: what their expressions may contain, and that all devices agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.devices.cpu.native import source
from rooftile.errors import InputError
from rooftile.ops.operator import MAX, OPERATORS, PRODUCT, SUM, Operator, operator_of
from rooftile.strategies.common.operators import in_kernel_language

_EXPRESSIONS = (
    "a + b",
    "a > b ? a : b",
    "min(a, b)",
    "fmax(a, b) - fmin(-a, +b) * 2",
    "a == b ? a : a < b || !(a > 3) && b != 2 ? abs(a) : b",
)
_OF_INTEGERS = ("(a * b + 1) % 1000003", "a ^ b | ~a & 255")
_OF_FLOATS = ("sqrt(fabs(a)) / (b - .5e1)",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "too early"),
        ("a +", "too early"),
        ("system(a)", "'system' is not allowed"),
        ("a; b", "no word"),
        ("a > b", "condition stands where a number"),
        ("a ? b", "':' should"),
        ("(a", "')' should"),
        ("a b", "follows where it should end"),
        ("min(a)", "2 arguments"),
        ("a % b", "divisor"),
        ("a % 0", "divisor"),
        ("0x10 + a", "no word"),
        ("(" * 100 + "a" + ")" * 100, "levels"),
        ("a" + " + b" * 300, "words"),
    ],
)
def test_what_an_expression_may_not_contain(text: str, reason: str) -> None:
    with pytest.raises(InputError, match="expression") as caught:
        Operator(text, 0)
    assert reason in str(caught.value)


def test_c_s_precedence() -> None:
    a, b = np.array([7, -7]), np.array([2, 2])
    for text in ("a + b * 3 - -a", "a - b - 1", "a & 3 ^ b | 4"):
        combined = Operator(text, 0).combine(a, b)
        assert (combined == [eval(text, {"a": x, "b": y}) for x, y in zip(a, b, strict=True)]).all()
    assert (Operator("a % 4", 0).combine(a, b) == [3, -3]).all()
    assert (Operator("a > 0 ? b > 5 ? 1 : 2 : 3", 0).combine(a, b) == [2, 3]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_the_cpu_s_kernels_compute_what_numpy_does(dtype: str) -> None:
    own = _OF_INTEGERS if dtype == "int64" else _OF_FLOATS
    texts = [*_EXPRESSIONS, *own]
    generator = np.random.default_rng(0)
    a, b = generator.standard_normal((2, 200)).astype(dtype)
    if dtype == "int64":
        a, b = generator.integers(-(2**63), 2**63, (2, 200))
        b[:9] = a[:9]
    else:
        a[:3], b[2:5], b[7:10] = np.nan, np.nan, np.inf
    lines = "".join(
        f"        out[{k} * 200 + i] = "
        f"{in_kernel_language(Operator(text, 0).tree, dtype, 'a[i]', 'b[i]')}\n"
        for k, text in enumerate(texts)
    )
    text = f"def kernel(a, b, out, sizes, begin, end):\n    for i in range(begin, end):\n{lines}"
    made = np.zeros((len(texts), 200), dtype)
    cpu.Spread(source("operators", text), (dtype,) * 3)((a, b, made), np.zeros(1, np.int64), 200, 1)
    for text, row in zip(texts, made, strict=True):
        np.testing.assert_array_equal(row, Operator(text, 0).combine(a, b), err_msg=text)


def test_dtypes_of_values_and_results() -> None:
    assert [SUM.carried(d) for d in ("float16", "uint8", "float64")] == [
        "float32",
        "int64",
        "float64",
    ]
    assert [SUM.result(d) for d in ("bfloat16", "int32")] == ["bfloat16", "int64"]
    assert MAX.result("uint8") == "uint8"
    assert Operator("a > b ? a : b", -math.inf).result("int32") == "int32"
    assert Operator("a | b", 0).result("uint8") == "int64"


def test_identities() -> None:
    assert MAX.identity_in("uint8") == 0
    assert MAX.identity_in("int64") == -(2**63)
    assert OPERATORS["min"].identity_in("int32") == 2**31 - 1
    assert OPERATORS["min"].identity_in("float32") == np.inf
    assert PRODUCT.identity_in("float64") == 1


def test_what_an_operator_says_of_dtypes() -> None:
    assert Operator("a % 5", 0).why_not("float32") == "% is for integers"
    assert Operator("a / b", 1).why_not("int32") == "/ is for floating-point numbers"
    assert Operator("a * 0.5", 1).why_not("int32") == "0.5 is no integer"
    assert "identity" in str(Operator("a | b", 0.5).why_not("uint8"))
    assert "identity" in str(Operator("a > b ? a : b", math.nan).why_not("int32"))
    assert SUM.why_not("uint8") is None


def test_operators_by_name() -> None:
    assert operator_of("sum") is SUM
    assert repr(SUM) == "sum"
    assert Operator.from_text("max") is MAX
    with pytest.raises(InputError, match="operator"):
        operator_of("average")
    with pytest.raises(InputError, match="identity"):
        Operator("a + b", "0")  # type: ignore[arg-type]
