"""Dense operations: convolution, pooling, matrix products."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from rooftile.devices.select import DeviceName, parse_device
from rooftile.errors import InputError, check_flag
from rooftile.functional._call import remembered, run
from rooftile.functional.padding import Around, Sides, around_images, is_padded, sides
from rooftile.ops import Conv2d, FusedActivation, Linear, Pool, Pool2d, PoolSpec, Precision
from rooftile.ops.boundary import Boundary
from rooftile.ops.checks import check_positive, pair
from rooftile.ops.layers.conv2d import BOUNDARIES
from rooftile.ops.layers.pooling import PoolKind
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.matvec import Matvec
from rooftile.ops.precision import check_precision
from rooftile.runtime.arguments import Arguments, Array, computed_in, is_empty
from rooftile.runtime.calls.fast_path import repeated
from rooftile.runtime.selection.choice import decide
from rooftile.runtime.selection.costs import speeds_of
from rooftile.strategies.contract.strategy import fastest


@repeated("x", "weights", "bias")
def conv2d(
    x: Array,
    weights: Array,
    bias: Array | None = None,
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | Sides = 0,
    activation: FusedActivation = "none",
    pool: PoolSpec | Pool | None = None,
    boundary: Around = "zero",
    groups: int = 1,
    dilation: int | tuple[int, int] = 1,
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``pool(activation(x * weights + bias))``; ``*`` is cross-correlation.

    x[batch, channels, height, width], weights[maps, channels / groups, mask height, mask width] and
    bias[maps] (None: zeros) give y[batch, maps, rows, columns]. With ``groups`` channels and maps
    are cut into as many equal parts, and a map's sum is over the channels of its part; as many
    groups as channels are a depthwise convolution. ``dilation`` (an integer or a pair) is how many
    pixels apart the taps of a mask are. ``stride`` is an integer or a (vertical, horizontal) pair;
    so is ``padding``, or ((above, below), (left, right)), or ``"same"``: as much as makes the
    result as large as the image over the stride, the odd row or column of it below or to the right.
    ``boundary`` says what the padding holds: ``zero``,
    ``replicate`` (the nearest pixel), ``reflect`` (the mirror image without its first pixel) and
    ``wrap`` (the other end) and ``symmetric`` (the mirror image with its first pixel) as
    `numpy.pad` has them, or ``interior``: outputs of the convolution whose mask leaves the image
    are zeros, bias included. ``pool`` is ``("max", "average" or "l2", window[, stride[,
    activation]])``, with the activation after the pool, and only the convolution outputs that it
    reads are computed. An x without images gives an empty result.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
    chapters 7 and 16.
    """
    if is_padded(boundary, BOUNDARIES):
        # A call of its own: a call that is kept reads x without a copy.
        options: Any = {"precision": precision, "strategy": strategy, "device": device, "out": out}
        mask = tuple(getattr(weights, "shape", ()))[-2:]
        extended = around_images(x, mask, padding, stride, dilation, boundary)
        options |= {"stride": stride, "activation": activation, "pool": pool}
        options |= {"groups": groups, "dilation": dilation}
        made: Array = conv2d(extended, weights, bias, **options)
        return made
    given = Arguments(x, forms=True, double=True)
    images = given.take("x", x, "batch, channels, height, width", empty="batch")
    masks = given.take("weights", weights, "maps, channels, mask height, mask width")
    parameters = {"weights": masks, "bias": given.take_bias(bias, masks.shape[0])}
    count, *image = images.shape
    shapes, fused = ((count or 1, *image), masks.shape), (activation, pool)
    known = cast(Boundary, boundary)
    apart = groups, dilation
    problem = conv2d_problem(*shapes, stride, padding, *fused, known, *apart, given.dtype)
    return run(given, problem, [images], parameters, precision, strategy, device, out)


@remembered
def conv2d_problem(
    images: tuple[int, ...],
    masks: tuple[int, ...],
    stride: int | tuple[int, int],
    padding: int | Sides,
    activation: FusedActivation,
    pool: PoolSpec | Pool | None,
    boundary: Boundary,
    groups: int = 1,
    dilation: int | tuple[int, int] = 1,
    dtype: str = "float32",
) -> Conv2d:
    """The problem of images and masks of these shapes.  Raises `InputError`."""
    batch, channels, height, width = images
    check_positive(groups=groups)
    if masks[1] * groups != channels:
        each = "" if groups == 1 else f", {groups} groups of {masks[1]}"
        raise InputError("weights", f"{masks[1]} channels{each}", f"x's {channels} channels")
    (above, below), (left, right) = sides(padding, images[2:], masks[2:], stride, dilation)
    return Conv2d(
        batch,
        channels,
        height,
        width,
        masks[0],
        (masks[2], masks[3]),
        pair("stride", stride, 1),
        (above, left),
        activation,
        Pool.parse(pool),
        boundary,
        computed_in(dtype),
        groups=groups,
        dilation=pair("dilation", dilation, 1),
        padding_after=(below, right),
    )


def pool2d(
    x: Array,
    kind: PoolKind,
    window: int | tuple[int, int],
    *,
    stride: int | tuple[int, int] | None = None,
    weights: Array | None = None,
    bias: Array | None = None,
    activation: FusedActivation = "none",
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``activation(pool(x) + bias)``, with one pooled value for each window of x.

    x[batch, channels, height, width] and bias[channels] (None: no bias) give y[batch, channels,
    rows, columns]; ``window`` and ``stride`` (None: the window) are an integer or a
    (vertical, horizontal) pair.  ``kind`` is ``max``, ``average``, ``l2``, the root of the sum of
    squares, or ``weighted``, the sum of the elements times weights[window height, window width]:
    an average where these sum to one, which is the caller's to see to.  Windows that do not fit
    are dropped; NaN propagates.  An x without images gives an empty result.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 9.3.
    """
    given = {"weights": weights, "bias": bias}
    parameters = {name: array for name, array in given.items() if array is not None}
    return _pooled(
        x,
        *parameters.values(),
        names=tuple(parameters),
        biased=bias is not None,
        kind=kind,
        window=window,
        stride=stride,
        activation=activation,
        precision=precision,
        strategy=strategy,
        device=device,
        out=out,
    )


@repeated("x")
def _pooled(
    x: Array,
    *parameters: Array,
    names: tuple[str, ...],
    biased: bool,
    kind: str,
    window: int | tuple[int, int],
    stride: int | tuple[int, int] | None,
    activation: FusedActivation,
    precision: Precision,
    strategy: str | None,
    device: DeviceName | None,
    out: Array | None,
) -> Array:
    given = Arguments(x, forms=True)
    images = given.take("x", x, "batch, channels, height, width", empty="batch")
    count, *image = images.shape
    problem = _pool2d((count or 1, *image), kind, window, stride, activation, biased)
    axes = {"weights": "window height, window width", "bias": "channels"}
    taken = {
        name: given.take(name, array, axes[name])
        for name, array in zip(names, parameters, strict=True)
    }
    expected = problem.parameter_shapes
    for name in set(taken) ^ set(expected):
        found, wanted = ("None", "an array") if name in expected else ("an array", "None")
        raise InputError(name, found, f"{wanted} for a pool of kind {kind!r}")
    for name, array in taken.items():
        if array.shape != expected[name]:
            raise InputError(name, f"shape {tuple(array.shape)}", f"{expected[name]}")
    return run(given, problem, [images], taken, precision, strategy, device, out)


@remembered
def _pool2d(
    images: tuple[int, ...],
    kind: str,
    window: int | tuple[int, int],
    stride: int | tuple[int, int] | None,
    activation: FusedActivation,
    biased: bool,
) -> Pool2d:
    batch, channels, height, width = images
    pool = Pool.of(kind, window, stride, activation)
    return Pool2d(batch, channels, height, width, pool, biased)


@repeated("x", "weights", "bias")
def linear(
    x: Array,
    weights: Array,
    bias: Array | None = None,
    *,
    activation: FusedActivation = "none",
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``activation(x weights^T + bias)``.

    x[..., inputs], weights[outputs, inputs] and bias[outputs] (None: zeros) give y[..., outputs]:
    x has any number of axes, from one on, and all but the last are kept.  An x without rows gives
    an empty result.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), chapter 6.
    """
    given = Arguments(x, forms=True, double=True)
    rows, leading = given.take_rows("x", x)
    matrix = given.take("weights", weights, "outputs, inputs")
    parameters = {"weights": matrix, "bias": given.take_bias(bias, matrix.shape[0])}
    count, inputs = rows.shape
    problem = linear_problem((count or 1, inputs), matrix.shape, activation, given.dtype)
    shape = (*leading, matrix.shape[0])
    kept = None if len(shape) == 2 else shape
    return run(given, problem, [rows], parameters, precision, strategy, device, out, kept)


@remembered
def linear_problem(
    rows: tuple[int, ...],
    matrix: tuple[int, ...],
    activation: FusedActivation,
    dtype: str = "float32",
) -> Linear:
    """The problem of rows and weights of these shapes.  Raises `InputError`."""
    if matrix[1] != rows[1]:
        raise InputError("weights", f"{matrix[1]} inputs", f"x's {rows[1]} inputs")
    return Linear(rows[0], rows[1], matrix[0], activation, computed_in(dtype))


@repeated("a", "b", turned=("transpose_a", "transpose_b"))
def matmul(
    a: Array,
    b: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The matrix product ``a b``, with either matrix transposed on request.

    a[rows, inner] and b[inner, columns] give y[rows, columns]; with ``transpose_a`` a is
    a[inner, rows], with ``transpose_b`` b is b[columns, inner].  Both are read as they lie, and a
    view of a transpose, such as ``b.T``, counts as what it is a view of.

    At ``precision`` "fp16" and "bf16" float32 matrices are rounded to TF32 instead, where the
    product is estimated to be faster so and no ``strategy`` is named, as it is for few rows: TF32
    has float32's range and the 11 significant bits of float16, bfloat16 has 8.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
    chapters 3, 5 and 6.
    """
    given = Arguments(a, "a", forms=True, double=True)
    check_precision(precision)
    check_flag("transpose_a", transpose_a)
    check_flag("transpose_b", transpose_b)
    axes_a = "inner, rows" if transpose_a else "rows, inner"
    axes_b = "columns, inner" if transpose_b else "inner, columns"
    left, turned_a = given.take_matrix("a", a, axes_a, bool(transpose_a), empty=True)
    right, turned_b = given.take_matrix("b", b, axes_b, bool(transpose_b), empty=True)
    rows, inner, columns = _sizes(left.shape, right.shape, turned_a, turned_b)
    if is_empty(left, right):
        return given.nothing(left, (rows, columns), "float32", device, out)
    dtype = computed_in(given.dtype)
    problem = _matmul(rows, inner, columns, turned_a, turned_b, dtype)
    if (
        strategy is None
        and precision in ("fp16", "bf16")
        and _pays_at_tf32(given, problem, precision, device)
    ):
        precision = "tf32"
    return run(given, problem, [left, right], {}, precision, strategy, device, out)


def _pays_at_tf32(
    given: Arguments[Array], problem: Matmul, precision: str, device: DeviceName | None
) -> bool:
    """True if a product for which 16 bits are enough is estimated to be faster at TF32: rounding
    float32 to 16 bits takes a pass over both matrices, which for few rows is longer than the
    product."""
    if given.dtype != "float32" or not given.plain:
        return False
    place = given.device(device)
    # One of two matrices in lines of terms would be turned, which is a pass, too.
    if parse_device(place)[0] != "cuda" or (problem.transpose_a and not problem.transpose_b):
        return False
    asked, wider = (decide(problem, one, place, once=True).strategy for one in (precision, "tf32"))
    if wider.name != "bulk_tf32":
        return False
    return fastest((asked, wider), problem, partial(speeds_of, place), once=True) is wider


def _sizes(
    left: tuple[int, ...], right: tuple[int, ...], turned_a: bool, turned_b: bool
) -> tuple[int, int, int]:
    """Rows, inner and columns of a product.  Raises `InputError`."""
    inner, rows = left if turned_a else left[::-1]
    columns, terms = right if turned_b else right[::-1]
    if terms != inner:
        raise InputError("b", f"{terms} to sum over", f"a's {inner}")
    return rows, inner, columns


@repeated("a", "x", turned=("transpose",))
def matvec(
    a: Array,
    x: Array,
    *,
    transpose: bool = False,
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """The product ``a x`` of a matrix with a vector.

    a[rows, columns] and x[columns] give y[rows]; with ``transpose`` a is a[columns, rows], as
    weights that are stored [inputs, outputs].  The matrix is read without a copy, and a view of a
    transpose counts as the matrix that it views.

    Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., chapter 3,
    exercise 2.
    """
    given = Arguments(a, "a", double=True)
    check_flag("transpose", transpose)
    axes = "columns, rows" if transpose else "rows, columns"
    matrix, turned = given.take_matrix("a", a, axes, bool(transpose), empty=True)
    vector = given.take("x", x, "columns", empty=True)
    columns, rows = matrix.shape if turned else matrix.shape[::-1]
    if vector.shape[0] != columns:
        raise InputError("x", f"{vector.shape[0]} elements", f"a's {columns} columns")
    if is_empty(matrix):
        return given.nothing(matrix, (rows,), "float32", device, out)
    problem = _matvec(rows, columns, turned, computed_in(given.dtype))
    return run(given, problem, [matrix, vector], {}, precision, strategy, device, out)


_matmul, _matvec = remembered(Matmul), remembered(Matvec)
