"""The largest error of the kernels' exponential, sigmoid, tangent and normal
distribution, over every float32.

Each of the 2^32 numbers, NaN and infinities included, is computed by vectors as kernels do and
compared with NumPy's float64.  The exit code is 1 where a bound that the package states
(`rooftile.devices.cpu.native.vector_math.ULPS`) is not the largest error, rounded up to a tenth.
It takes some minutes; ``--every 97`` looks at one number in 97, and only for errors beyond a bound.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.devices.cpu.native import source
from rooftile.devices.cpu.native.vector_math import ULPS

_TEXT = """
def kernel(x, out, sizes, begin, end):
    for j in range(begin * 16, end * 16, lanes()):
        z = load(x, j)
        store(out, j, {0})
"""
_CALLS = {
    "exp": "exp(z)",
    # It is for numbers up to zero.
    "grown_exp": "grown_exp(minimum(z, subtract(splat(float32(0.0)), z)))",
    "sigmoid": "sigmoid(z)",
    "tanh": "tanh(z)",
    "normal": "normal(z)",
}
_AT_ONCE = 2**20
"""Numbers of a chunk."""

Numbers = NDArray[np.float32]


def _sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.exp(np.minimum(z, 0)) / (1 + np.exp(-np.abs(z)))
    return found


def _grown_exp(z: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = 2.0**32 * np.exp(np.maximum(-np.abs(z), -104.0))
    return found


def _normal(z: NDArray[np.float64]) -> NDArray[np.float64]:
    half: Any = np.frompyfunc(lambda x: 0.5 * math.erfc(-x * math.sqrt(0.5)), 1, 1)(z)
    return np.asarray(half, np.float64)


REFERENCES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "exp": np.exp,
    "grown_exp": _grown_exp,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "normal": _normal,
}


@dataclass(frozen=True)
class Worst:
    """The largest error in units of the result's last place, and whose it is."""

    ulps: float
    x: float


def computed(name: str, x: Numbers, lanes: int | None = None) -> Numbers:
    """A function of a multiple of 16 numbers, by vectors of so many lanes (None: the widest)."""
    function = source(f"math_{name}", _TEXT.format(_CALLS[name]), lanes=lanes)
    out = np.full_like(x, 7.0)
    run = cpu.Spread(function, ["float32", "float32"])
    run((x, out), np.zeros(1, np.int64), x.size // 16, 1)
    return out


def worst(name: str, x: Numbers) -> Worst:
    """The largest error over these numbers; infinite where NaN, infinities or signs differ."""
    found = computed(name, x)
    with np.errstate(all="ignore"):
        expected = REFERENCES[name](x.astype(np.float64))
        rounded = expected.astype(np.float32)
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        errors = np.abs(found - expected) / unit
    special = ~np.isfinite(rounded)
    same = np.isnan(found) & np.isnan(rounded) | (found == rounded)
    errors[special] = np.where(same[special], 0.0, math.inf)
    signs = ~np.isnan(rounded) & (np.signbit(found) != np.signbit(rounded))
    errors[signs | np.isnan(errors)] = math.inf
    at = int(errors.argmax())
    return Worst(float(errors[at]), float(x[at]))


def over_all(name: str, every: int, threads: int) -> Worst:
    """The largest error over one float32 in ``every``."""

    def chunk(first: int) -> Worst:
        last = min(first + _AT_ONCE * every, 2**32)
        bits = np.arange(first, last, every, dtype=np.uint64).astype(np.uint32)
        return worst(name, np.resize(bits, -(-bits.size // 16) * 16).view(np.float32))

    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(chunk, range(0, 2**32, _AT_ONCE * every))
        return max(found, key=lambda one: one.ulps)


def main(given: list[str] | None = None) -> int:
    """Measure, print, and compare with what is stated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N")
    arguments: Any = parser.parse_args(given)
    wrong = 0
    for name, stated in ULPS.items():
        found = over_all(name, arguments.every, cpu.cores())
        tenths = math.ceil(10 * found.ulps) / 10 if math.isfinite(found.ulps) else math.inf
        right = stated == tenths if arguments.every == 1 else stated >= found.ulps
        wrong += not right
        print(
            f"{name:9} {found.ulps:.4f} units at x = {found.x!r}; stated: {stated}"
            + ("" if right else ", which is NOT what was found"),
            flush=True,
        )
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
