"""Who picks the strategy: a named one is checked, else the first that takes the problem.

The order of preference comes from measurements.  A pick is explainable:
`explain_choice` says of every strategy why it was taken or passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rooftile.errors import DeviceMissing, InputError, UnsupportedProblem
from rooftile.ops import Conv2d, Problem, admits, check_precision
from rooftile.strategies import Strategy, ladder
from rooftile.strategies import strategy as by_name

DEVICES = ("cpu", "cuda", "opencl")
"""Kinds of device that the design knows; all but the CPU need an extra."""

PREFERENCE: dict[str, tuple[str, ...]] = {
    "conv2d": (
        "winograd", "fft", "register_tile", "unrolled", "im2col_fused", "im2col", "threads",
        "loops",
    ),
    "linear": ("blocked", "blas", "threads", "loops"),
    "pool2d": ("rows", "threads", "loops"),
    "softmax": ("threads", "loops"),
}  # fmt: skip
"""Strategies from the fastest downwards, where they take the problem and pay."""

FFT_TRANSFORM, FFT_PRODUCT = 825, 62
"""What one transform, and one product of transforms, costs a pixel, in taps of
`register_tile` (fitted to measurements on a Zen 4)."""

WINOGRAD_REUSE = 80
"""How often, at least, a square transformed tile must be used, in taps: the mask's area
times the harmonic mean of channels and maps (fitted likewise)."""


@dataclass(frozen=True)
class Consideration:
    """What became of one strategy when a problem looked for one."""

    strategy: str
    taken: bool
    reason: str


def choose(
    problem: Problem, precision: str = "ieee", device: str = "cpu", strategy: str | None = None
) -> Strategy:
    """The strategy to compute a problem with.

    A named ``strategy`` must take the problem at this precision; None means the
    fastest known for it.  Raises `InputError` for an unknown precision, device or
    strategy, `UnsupportedProblem` where the named strategy cannot do it, and
    `DeviceMissing` for a device that this installation has no support for.
    """
    check_precision(precision)
    check_device(device)
    if strategy is not None:
        return _named(problem, precision, strategy)
    for rung, reason in _considered(problem, precision):
        if reason is None:
            return rung
    raise UnsupportedProblem("any", f"no strategy of {problem.operation} takes {problem}")


def explain_choice(
    problem: Problem, precision: str = "ieee", device: str = "cpu"
) -> tuple[Consideration, ...]:
    """Every strategy in order of preference, with why it was taken or not.

    Raises the errors of `choose`.
    """
    chosen = choose(problem, precision, device)

    def of(rung: Strategy, against: str | None) -> Consideration:
        if rung is chosen:
            return Consideration(rung.name, True, "the fastest that takes the problem")
        return Consideration(rung.name, False, against or f"measured slower than {chosen.name}")

    return tuple(of(rung, against) for rung, against in _considered(problem, precision))


def check_device(device: str) -> None:
    """Raise `InputError` for an unknown device, `DeviceMissing` for one without support."""
    kind = device.partition(":")[0] if isinstance(device, str) else None
    if kind not in DEVICES:
        raise InputError("device", repr(device), f"one of {list(DEVICES)}")
    if kind != "cpu":
        raise DeviceMissing(
            f"support for the device {device!r} in this version of rooftile",
            f'pip install "rooftile[{kind}]", once that extra provides it; device="cpu" works now',
        )
    if device != "cpu":
        raise InputError("device", repr(device), "'cpu' without a number: there is one")


def _named(problem: Problem, precision: str, name: str) -> Strategy:
    if not isinstance(name, str):
        names = [rung.name for rung in ladder(problem.operation)]
        raise InputError("strategy", repr(name), f"None or one of {names}")
    rung = by_name(problem.operation, name)
    if not admits(precision, rung.precision):
        raise UnsupportedProblem(
            name, f"its precision is {rung.precision!r}, asked was {precision!r}",
            f"precision={rung.precision!r}",
        )  # fmt: skip
    rung.check(problem)
    return rung


def _considered(problem: Problem, precision: str) -> Iterator[tuple[Strategy, str | None]]:
    """The ladder by preference, each rung with why it is out of the question (None: it is not)."""
    preferred = PREFERENCE.get(problem.operation, ())

    def place(rung: Strategy) -> tuple[bool, int]:
        # A rung that nobody has placed yet comes after the others, higher rungs first.
        known = rung.name in preferred
        return not known, preferred.index(rung.name) if known else -rung.order

    for rung in sorted(ladder(problem.operation), key=place):
        yield rung, _against(rung, problem, precision)


def _against(rung: Strategy, problem: Problem, precision: str) -> str | None:
    if "cpu" not in rung.devices:
        return f"it runs on {', '.join(rung.devices)}"
    if not admits(precision, rung.precision):
        return f"its precision is {rung.precision!r}, asked was {precision!r}"
    return rung.why_not(problem) or _does_not_pay(rung, problem)


def _does_not_pay(rung: Strategy, problem: Problem) -> str | None:
    """Why a strategy that takes the problem is slower there than those after it."""
    if not isinstance(problem, Conv2d):
        return None
    if rung.name == "fft":
        return _fft_does_not_pay(problem)
    if rung.name == "winograd":
        return _winograd_does_not_pay(problem)
    return None


def _winograd_does_not_pay(p: Conv2d) -> str | None:
    # Masks seven high are transformed by rows, which pays even for one channel.
    reuse = math.prod(p.mask) * 2 * p.channels * p.maps / (p.channels + p.maps)
    if p.mask[0] == 7 or reuse >= WINOGRAD_REUSE:
        return None
    return "too few channels and maps share a transformed tile"


def _fft_does_not_pay(p: Conv2d) -> str | None:
    outputs, pairs = math.prod(p.conv_read), p.channels * p.maps
    inputs = (p.height + 2 * p.padding[0]) * (p.width + 2 * p.padding[1])
    taps = inputs * (FFT_TRANSFORM * (p.channels + p.maps) + FFT_PRODUCT * pairs)
    least = taps / (pairs * outputs)
    if math.prod(p.mask) >= least:
        return None
    return f"its transforms pay from masks of {least:.0f} taps here"
