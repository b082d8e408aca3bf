"""The exponential and functions made of it, for vectors of kernels; each lane by itself.

Generated kernels know by name: ``exp(x)``, ``grown_exp(x)`` (``2^32 e^x`` of a difference up to
zero; none is subnormal, and its error grows as that of the difference does), ``sigmoid(x)``,
``tanh(x)``, ``normal(x)`` (the distribution function of the standard normal distribution),
``larger(x, y)`` (y where either is NaN: one instruction, where ``maximum`` is four), ``largest(x)``
and ``summed(x)`` (the lanes' maximum, whatever it is where one is NaN, and their sum, in every
lane; with a literal 2, 4 or 8 as well, of groups of that many adjacent lanes), and ``lanes()``.

With ``n`` the integer nearest to ``x / ln 2`` and ``r = x - n ln 2``, ``exp(x)`` is
``2^n (1 + r + r^2 q(r))``; ``r`` takes two subtractions, since ``ln 2`` is kept as a short number
and a small one (Cody and Waite).  ``q`` is a polynomial whose largest relative error in the result
is least.  ``grown_exp`` is for a difference that is rounded already, to whose error that of one
subtraction adds little; its polynomial is ``e^r``, of one term less.
`ULPS` rests on every float32, but for tangents of those below 2^-30 and above 12.

Source: Muller, "Elementary Functions", third edition (2016), chapters 3 and 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rooftile.devices.cpu.native.build import processor
from rooftile.devices.cpu.native.types import FLOAT, INTEGER, Function, Type, Value, constant

if TYPE_CHECKING:
    from rooftile.devices.cpu.native.expressions import Expressions

ULPS = {"exp": 1.2, "grown_exp": 5.3, "sigmoid": 2.5, "tanh": 2.6, "normal": 7.4}
"""Bounds of the error, in units of the result's last place."""

_LEAST, _MOST = -104.0, 89.0
"""Below the one an exponential rounds to zero, above the other to infinity."""
_BIAS = 127
"""An exponent of zero, as float32 has it."""
_GROWN = 32
"""Binary digits by which `grown_exp` is larger, so that its smallest result is no subnormal number.
"""
_FLAT = 10.0
"""From here on a hyperbolic tangent rounds to one."""
_SHORT, _SMALL = 0.693359375, math.log(2.0) - 0.693359375
"""Their sum is ln 2; the first has so few digits that its products with integers are exact."""
_ROUND = 1.5 * 2.0**23
"""Added to a small number, it makes the sum's last bits the nearest integer."""
_Q = (0.5, 0.1666652113199234, 0.04166838899254799, 0.008368716575205326, 0.001381459878757596)
_E = (1.0, 0.9999997, 0.49999148, 0.16667654, 0.041898206, 0.0082891127)
"""Of ``e^r`` itself, rounded to float32; the relative error is 9.3e-8 at most."""
_TAIL = 0.25
"""``1 / (1 + _TAIL a)`` is what the normal distribution's tail is a polynomial of."""
_FAR = 15.0
"""From here on the tail rounds to zero."""
_T = (
    *(-7.2203856889156964e-06, 0.09990691393613815, 0.09796752035617828, 0.1039048358798027),
    *(0.04267390817403793, 0.1547824889421463, -0.09392368793487549, 0.1396382749080658),
    *(-0.02239643596112728, -0.03431672975420952, 0.011770137585699558),
)
"""Of the tail at a, times ``e^(a^2/2)``, rounded to float32; the relative error is 2.8e-8 at
most."""
_WORD, _SHORT_WORD = Type("word", "integer", "i32"), Type("short", "integer", "i16")


class _Lanes:
    """Writes arithmetic on vectors."""

    def __init__(self, to: Expressions, x: Value) -> None:
        self.to, self.of = to, x.type
        self.integers = Type("integers", "vector", f"<{to.lanes} x i32>")

    def all(self, number: float) -> Value:
        """A number in every lane."""
        return Value(self.of, f"splat (float {constant(number, FLOAT).name})")

    def do(self, instruction: str, x: Value, y: Value) -> Value:
        """``fadd`` and others of two operands."""
        return self.to.made(x.type, f"{instruction} {x.type.llvm} {x.name}, {y.name}")

    def of_integers(self, instruction: str, x: Value, number: int) -> Value:
        return self.do(instruction, x, Value(self.integers, f"splat (i32 {number})"))

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """``x y + z``, rounded once."""
        return self.to.intrinsic(f"llvm.fma.v{self.to.lanes}f32", self.of, [x, y, z])

    def bits(self, x: Value, into: Type) -> Value:
        """The same bits as another type."""
        return self.to.made(into, f"bitcast {x.type.llvm} {x.name} to {into.llvm}")

    def where(self, condition: str, x: Value, y: Value, yes: Value, no: Value) -> Value:
        """Lane by lane ``yes`` where the condition holds of x and y, else ``no``."""
        of = self.of.llvm
        mask = Type("mask", "mask", f"<{self.to.lanes} x i1>")
        found = self.to.made(mask, f"fcmp {condition} {of} {x.name}, {y.name}").name
        return self.to.made(self.of, f"select {mask.llvm} {found}, {of} {yes.name}, {of} {no.name}")

    def called(self, name: str, *given: Value) -> Value:
        """A function of LLVM's."""
        return self.to.intrinsic(f"llvm.{name}.v{self.to.lanes}f32", self.of, list(given))

    def below(self, x: Value, limit: float) -> Value:
        """The smaller of both; NaN stays."""
        return self.where("ogt", x, self.all(limit), self.all(limit), x)

    def above(self, x: Value, limit: float) -> Value:
        """The larger of both; NaN stays."""
        return self.where("olt", x, self.all(limit), self.all(limit), x)

    def parts(self, x: Value, raised: int = 0) -> tuple[Value, Value, Value]:
        """``r``, ``q(r)``, and ``n`` after the bits of `_ROUND`, so much larger there."""
        n, shifted = self.nearest(x, raised)
        r = self.fma(n, self.all(-_SMALL), self.fma(n, self.all(-_SHORT), x))
        return r, self.polynomial(_Q, r), shifted

    def nearest(self, x: Value, raised: int) -> tuple[Value, Value]:
        """``n``, and the same after the bits of `_ROUND`."""
        magic = self.all(_ROUND + raised)
        shifted = self.fma(x, self.all(1.0 / math.log(2.0)), magic)
        return self.do("fsub", shifted, magic), shifted

    def polynomial(self, coefficients: Sequence[float], x: Value) -> Value:
        """The polynomial with these coefficients, the constant first, by Horner's rule."""
        *others, last = coefficients
        value = self.all(last)
        for coefficient in reversed(others):
            value = self.fma(value, x, self.all(coefficient))
        return value

    def less_one(self, r: Value, q: Value) -> Value:
        """``e^r - 1``."""
        return self.fma(self.do("fmul", r, r), q, r)

    def scaled(self, x: Value, shifted: Value) -> Value:
        """``2^n x``, rounded once where it is subnormal."""
        if self.to.lanes == 16 and "+avx512f" in processor()[1].split(","):
            zero = Value(self.of, "zeroinitializer")
            all_lanes, round_as_ever = Value(_SHORT_WORD, "-1"), Value(_WORD, "4")
            n = self.do("fsub", shifted, self.all(_ROUND))
            given = [x, n, zero, all_lanes, round_as_ever]
            return self.to.intrinsic("llvm.x86.avx512.mask.scalef.ps.512", self.of, given)
        # 2^n itself may be beyond float32. _ROUND's own last bits are zero.
        count = self.of_integers("shl", self.bits(shifted, self.integers), 16)
        count = self.of_integers("ashr", count, 16)
        half = self.of_integers("ashr", count, 1)
        x = self.do("fmul", x, self.power(half))
        return self.do("fmul", x, self.power(self.do("sub", count, half)))

    def power_of(self, shifted: Value) -> Value:
        """``2^n`` where the bits hold n raised by `_BIAS`, and it is no subnormal number."""
        # Of the bits only n's are left, where an exponent has its place.
        return self.bits(self.of_integers("shl", self.bits(shifted, self.integers), 23), self.of)

    def power(self, n: Value) -> Value:
        """``2^n`` of integers."""
        biased = self.of_integers("add", n, _BIAS)
        return self.bits(self.of_integers("shl", biased, 23), self.of)


def _exp(to: Expressions, given: list[Value]) -> Value:
    (x,) = given
    at = _Lanes(to, x)
    x = at.below(x, _MOST)
    r, q, shifted = at.parts(at.above(x, _LEAST))
    return at.scaled(at.do("fadd", at.less_one(r, q), at.all(1.0)), shifted)


def _grown_exp(to: Expressions, given: list[Value]) -> Value:
    (x,) = given
    at = _Lanes(to, x)
    x = at.above(x, _LEAST)
    n, shifted = at.nearest(x, _BIAS + _GROWN)
    power = at.polynomial(_E, at.fma(n, at.all(-math.log(2.0)), x))
    # To add n to the power's exponent would be quicker, but not keep NaN.
    return at.do("fmul", power, at.power_of(shifted))


def _sigmoid(to: Expressions, given: list[Value]) -> Value:
    # The exponential of a number that is not positive is at most one.
    (x,) = given
    at, zero = _Lanes(to, x), Value(x.type, "zeroinitializer")
    minus = to.made(x.type, f"fneg {x.type.llvm} {at.called('fabs', x).name}")
    r, q, shifted = at.parts(at.above(minus, _LEAST), _BIAS + _GROWN)
    grown = at.fma(at.fma(q, r, at.all(1.0)), r, at.all(1.0))
    e = at.do("fmul", at.do("fmul", grown, at.power_of(shifted)), at.all(2.0**-_GROWN))
    upper = at.where("olt", x, zero, e, at.all(1.0))
    return at.do("fdiv", upper, at.do("fadd", e, at.all(1.0)))


def _tanh(to: Expressions, given: list[Value]) -> Value:
    # With m = e^(2|x|) - 1, which small numbers lose nothing of, it is m / (m + 2).
    (x,) = given
    at = _Lanes(to, x)
    size = at.below(at.called("fabs", x), _FLAT)
    r, q, shifted = at.parts(at.do("fadd", size, size), _BIAS)
    power = at.power_of(shifted)
    m = at.fma(power, at.less_one(r, q), at.do("fsub", power, at.all(1.0)))
    return at.called("copysign", at.do("fdiv", m, at.do("fadd", m, at.all(2.0))), x)


def _normal(to: Expressions, given: list[Value]) -> Value:
    # The tail at a = |x| is e^(-a^2/2) times what falls slowly; above zero it is what is left of 1.
    (x,) = given
    at, zero = _Lanes(to, x), Value(x.type, "zeroinitializer")
    a = at.below(at.called("fabs", x), _FAR)
    square = at.do("fmul", a, a)
    minus = to.made(x.type, f"fneg {x.type.llvm} {square.name}")
    lost = at.do("fmul", at.fma(a, a, minus), at.all(-0.5))
    e = _exp(to, [at.do("fmul", minus, at.all(0.5))])
    e = at.fma(e, lost, e)
    part = at.do("fdiv", at.all(1.0), at.fma(a, at.all(_TAIL), at.all(1.0)))
    tail = at.do("fmul", e, at.polynomial(_T, part))
    return at.where("olt", x, zero, tail, at.do("fsub", at.all(1.0), tail))


def _over_lanes(combine: Callable[[_Lanes, Value, Value], Value]) -> Function:
    """All lanes combined, halves with halves, or only the first 2, 4, 8 of them, a literal; the
    result is in every lane that was combined."""

    def write(to: Expressions, given: list[Value]) -> Value:
        x, *most = given
        at, distance = _Lanes(to, x), ((most[0].literal or 0) if most else to.lanes) // 2
        while distance:
            numbers = ", ".join(f"i32 {k ^ distance}" for k in range(to.lanes))
            of = x.type.llvm
            words = f"shufflevector {of} {x.name}, {of} poison, <{to.lanes} x i32> <{numbers}>"
            x = combine(at, x, to.made(x.type, words))
            distance //= 2
        return x

    return Function("over lanes", write)


def _larger(at: _Lanes, x: Value, y: Value) -> Value:
    return at.where("ogt", x, y, x, y)


VECTOR_MATH = {
    "exp": Function("exp", _exp),
    "grown_exp": Function("grown_exp", _grown_exp),
    "sigmoid": Function("sigmoid", _sigmoid),
    "tanh": Function("tanh", _tanh),
    "normal": Function("normal", _normal),
    "larger": Function("larger", lambda to, given: _larger(_Lanes(to, given[0]), *given)),
    "largest": _over_lanes(_larger),
    "summed": _over_lanes(lambda at, x, y: at.do("fadd", x, y)),
    "lanes": Function("lanes", lambda to, given: Value(INTEGER, str(to.lanes))),
}
"""The functions by name."""
