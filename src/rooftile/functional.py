"""The public functions: check the arguments, build the problem, run a strategy.

Arrays are NumPy, float32, native byte order, NCHW and row-major.  A view that is
not contiguous or not aligned is copied first; nothing else is ever converted: other
dtypes are refused.  Results are new arrays, or ``out`` where it is given.

Every function takes ``precision`` (``ieee`` or ``fast``, see
`rooftile.ops.precision`), ``strategy`` (a rung's name; None picks the fastest),
``device`` (``cpu``, ``cuda[:N]`` or ``opencl[:N]``, which arrays are copied to and
from; None follows the array: a NumPy array means the CPU) and ``out`` (a
C-contiguous float32 array of the result's shape that shares no memory with the
arguments), and raises `InputError` naming the argument that is wrong,
`UnsupportedProblem` where the named strategy cannot do it or the device's kind has
none, `DeviceMissing`, `CompileFailure` on GPUs, and `OutOfMemory`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.select import open_gpu
from rooftile.dispatch import choose
from rooftile.errors import InputError
from rooftile.ops import Conv2d, Float32, FusedActivation, Linear, Pool, Pool2d, PoolSpec, Problem
from rooftile.ops import Softmax as SoftmaxProblem
from rooftile.ops.problem import pair
from rooftile.strategies import Bound, Strategy
from rooftile.strategies.gpu import GpuStrategy


def conv2d(
    x: Float32,
    weights: Float32,
    bias: Float32 | None = None,
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    activation: FusedActivation = "none",
    pool: PoolSpec | Pool | None = None,
    precision: str = "ieee",
    strategy: str | None = None,
    device: str | None = None,
    out: Float32 | None = None,
) -> Float32:
    """``pool(activation(x * weights + bias))``; ``*`` is cross-correlation.

    x[batch, channels, height, width], weights[maps, channels, mask height, mask
    width] and bias[maps] (None: zeros) give y[batch, maps, rows, columns].
    ``stride`` and ``padding`` (of zeros, the same on both sides) are an integer or a
    (vertical, horizontal) pair; ``pool`` is ``("max" or "average", window[, stride])``,
    and only the convolution outputs that it reads are computed.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
    chapters 7 and 16.
    """
    x = _array("x", x, "batch, channels, height, width")
    weights = _array("weights", weights, "maps, channels, mask height, mask width")
    if weights.shape[1] != x.shape[1]:
        raise InputError("weights", f"{weights.shape[1]} channels", f"x's {x.shape[1]} channels")
    batch, channels, height, width = x.shape
    problem = Conv2d(
        batch, channels, height, width, weights.shape[0], (weights.shape[2], weights.shape[3]),
        pair("stride", stride, 1), pair("padding", padding, 0), activation, Pool.parse(pool),
    )  # fmt: skip
    parameters = (weights, _bias(bias, weights.shape[0]))
    return _run(problem, x, parameters, precision, strategy, device, out)


def pool2d(
    x: Float32,
    kind: str,
    window: int | tuple[int, int],
    *,
    stride: int | tuple[int, int] | None = None,
    precision: str = "ieee",
    strategy: str | None = None,
    device: str | None = None,
    out: Float32 | None = None,
) -> Float32:
    """The maximum or the average (``kind``: ``max``, ``average``) of each window of x.

    x[batch, channels, height, width] gives y[batch, channels, rows, columns];
    ``window`` and ``stride`` (None: the window) are an integer or a (vertical,
    horizontal) pair.  Windows that do not fit are dropped; NaN propagates.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.3.
    """
    x = _array("x", x, "batch, channels, height, width")
    batch, channels, height, width = x.shape
    problem = Pool2d(batch, channels, height, width, Pool.of(kind, window, stride))
    return _run(problem, x, (), precision, strategy, device, out)


def linear(
    x: Float32,
    weights: Float32,
    bias: Float32 | None = None,
    *,
    activation: FusedActivation = "none",
    precision: str = "ieee",
    strategy: str | None = None,
    device: str | None = None,
    out: Float32 | None = None,
) -> Float32:
    """``activation(x weights^T + bias)``.

    x[batch, inputs], weights[outputs, inputs] and bias[outputs] (None: zeros) give
    y[batch, outputs].

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), chapter 6.
    """
    x = _array("x", x, "batch, inputs")
    weights = _array("weights", weights, "outputs, inputs")
    if weights.shape[1] != x.shape[1]:
        raise InputError("weights", f"{weights.shape[1]} inputs", f"x's {x.shape[1]} inputs")
    problem = Linear(x.shape[0], x.shape[1], weights.shape[0], activation)
    parameters = (weights, _bias(bias, weights.shape[0]))
    return _run(problem, x, parameters, precision, strategy, device, out)


def softmax(
    x: Float32,
    *,
    precision: str = "ieee",
    strategy: str | None = None,
    device: str | None = None,
    out: Float32 | None = None,
) -> Float32:
    """``exp(x - max) / sum(exp(x - max))`` of each row of x[batch, classes].

    A row that holds NaN or +inf gives NaN.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1.
    """
    x = _array("x", x, "batch, classes")
    problem = SoftmaxProblem(x.shape[0], x.shape[1])
    return _run(problem, x, (), precision, strategy, device, out)


def _run(
    problem: Problem,
    x: Float32,
    parameters: tuple[Float32, ...],
    precision: str,
    strategy: str | None,
    device: str | None,
    out: Float32 | None,
) -> Float32:
    device = "cpu" if device is None else device
    rung = choose(problem, precision, device, strategy)
    if out is None:
        size = math.prod(problem.output_shape)
        out = cpu.allocate(size, "the result").reshape(problem.output_shape)
    else:
        _check_out(out, problem.output_shape, (x, *parameters))
    _bind(rung, problem, parameters, device)(x, out)
    return out


def _bind(rung: Strategy, problem: Problem, parameters: tuple[Float32, ...], device: str) -> Bound:
    if isinstance(rung, GpuStrategy):
        return rung.bind(problem, *parameters, device=open_gpu(device))
    return rung.bind(problem, *parameters)


def _array(name: str, value: Any, axes: str) -> Float32:
    """``value`` as C-contiguous aligned float32 of the rank that ``axes`` says; or `InputError`."""
    _check_kind(name, value)
    rank = axes.count(",") + 1
    if value.ndim != rank:
        raise InputError(name, f"{value.ndim} axes {value.shape}", f"{rank}: [{axes}]")
    if 0 in value.shape:
        raise InputError(name, f"the empty shape {value.shape}", f"[{axes}] of at least 1 each")
    if value.flags.c_contiguous and value.flags.aligned:
        return np.asarray(value)
    copy = cpu.allocate(value.size, f"a contiguous copy of {name}").reshape(value.shape)
    copy[...] = value
    return copy


def _check_kind(name: str, value: Any) -> None:
    """Raise `InputError` unless ``value`` is a plain NumPy array of native float32."""
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise InputError(name, f"a {type(value).__name__}", "a NumPy array of float32")
    if value.dtype != np.float32:
        raise InputError(
            name, f"dtype {value.dtype.str if value.dtype.kind == 'f' else value.dtype}",
            f"float32 in native byte order; {name}.astype(numpy.float32) converts",
        )  # fmt: skip


def _bias(bias: Any, count: int) -> Float32:
    if bias is None:
        return np.zeros(count, np.float32)
    array = _array("bias", bias, "maps")
    if array.shape != (count,):
        raise InputError("bias", f"shape {array.shape}", f"({count},), one for each of weights")
    return array


def _check_out(out: Any, shape: tuple[int, ...], arguments: tuple[Float32, ...]) -> None:
    """Raise `InputError` unless a kernel may write its result straight into ``out``."""
    _check_kind("out", out)
    if out.shape != shape:
        raise InputError("out", f"shape {out.shape}", f"the result's shape {shape}")
    flags = out.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        lacking = [w for w in ("c_contiguous", "aligned", "writeable") if not flags[w.upper()]]
        raise InputError("out", f"an array that is not {', '.join(lacking)}", "a plain new array")
    if any(np.may_share_memory(out, argument) for argument in arguments):
        raise InputError("out", "an array that overlaps an argument", "memory of its own")
