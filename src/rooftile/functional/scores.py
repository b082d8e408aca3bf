"""Scores of classes: softmax, its gradient, and losses with theirs."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from rooftile.devices.cuda import CudaArray
from rooftile.devices.select import DeviceName
from rooftile.errors import InputError, check_word
from rooftile.functional._call import remembered, run, run_several
from rooftile.functional._integers import check_ignored, on_the_gpu, on_the_host, taken_labels
from rooftile.functional.layout import transpose
from rooftile.functional.patterns import reduce
from rooftile.ops import Precision, Softmax
from rooftile.ops.gradients.loss_gradient import LossGradient, RowLoss
from rooftile.ops.gradients.softmax_cross_entropy import IGNORED, SoftmaxCrossEntropy
from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient
from rooftile.runtime.arguments import ANY, Arguments, Array, Taken, flattened, is_empty
from rooftile.runtime.arrays.libraries import FLOAT32
from rooftile.runtime.calls.fast_path import repeated
from rooftile.runtime.calls.plain import plain

Reduction = Literal["none", "sum", "mean"]


@repeated("x")
def softmax(
    x: Array,
    axis: int = -1,
    *,
    precision: Precision = "ieee",
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``exp(x - max) / sum(exp(x - max))`` along an axis of x, which has any shape.

    A line that holds NaN or +inf gives NaN.  An x without elements gives an empty result.  Another
    axis than the last costs two transpositions.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1.
    """
    order = _axis_last("x", x, axis)
    if order is not None:
        rows = softmax(
            transpose(x, order), precision=precision, strategy=strategy, device=device
        )  # fmt: skip
        return transpose(rows, _back(order), out=out)
    given = Arguments(x, forms=True)
    lines, leading = given.take_rows("x", x, empty=True)
    count, classes = lines.shape
    problem = _softmax(count or 1, classes or 1)
    shape = (*leading, classes)
    kept = None if len(shape) == 2 and not is_empty(lines) else shape
    return run(given, problem, [lines], {}, precision, strategy, device, out, kept)


@plain
def softmax_gradient(
    y: Array,
    dy: Array,
    axis: int = -1,
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
    out: Array | None = None,
) -> Array:
    """``y * (dy - sum(dy * y))`` along an axis: dx of y = softmax(x), all of one shape.

    Another axis than the last costs three transpositions.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.2.2.3.
    """
    order = _axis_last("y", y, axis)
    if order is not None and len(getattr(dy, "shape", ())) == len(order):
        both = transpose(y, order), transpose(dy, order)
        rows = softmax_gradient(*both, strategy=strategy, device=device)
        return transpose(rows, _back(order), out=out)
    given = Arguments(y, "y")
    value, leading = given.take_rows("y", y, empty=True)
    gradient = given.take("dy", dy, ANY, empty=True)
    if tuple(gradient.shape) != (shape := (*leading, value.shape[1])):
        raise InputError("dy", f"shape {tuple(gradient.shape)}", f"y's shape {shape}")
    count, classes = value.shape
    problem = SoftmaxGradient(count or 1, classes or 1)
    inputs = [value, flattened(gradient, value.shape)]
    return run(given, problem, inputs, {}, "ieee", strategy, device, out, shape)


@plain
def softmax_cross_entropy(
    x: Array,
    labels: Array,
    *,
    class_weights: Array | None = None,
    ignore_index: int = IGNORED,
    reduction: Reduction = "none",
    axis: int = -1,
    divisor: int = 1,
    strategy: str | None = None,
    device: DeviceName | None = None,
) -> tuple[Array, Array]:
    """Loss in nats of scores x, whose classes lie along ``axis``, with their labels; and dx.

    x has any shape, and ``labels`` has it without the axis (``axis=1`` for images as PyTorch has
    them), int32 or, in the CPU's memory, int64.  A row whose label is ``ignore_index`` has the loss
    0 and the gradient 0.  With float32 ``class_weights``[classes] loss and gradient of a row are
    multiplied by the weight of its label.

    ``reduction`` is ``none`` (a loss for each row, in the shape of the labels), ``sum``, or
    ``mean``: the sum divided by the weights of the labels that are not ignored, or by their number;
    of none it is NaN, with the gradient 0.  dx, of x's shape, is the gradient of the sum, or of the
    mean; without a reduction it is divided by ``divisor``.

    Another label than a class or ``ignore_index`` is an error in the CPU's memory. On a GPU, where
    the call would have to wait, such a row counts as an ignored one; a mean waits for the labels,
    and checks them.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.2.2.3.
    """
    check_word("reduction", reduction, ("none", "sum", "mean"))
    if reduction != "none" and divisor != 1:
        raise InputError("divisor", divisor, f"1: the reduction is {reduction!r}")
    check_ignored(ignore_index)
    order = _axis_last("x", x, axis)
    if order is not None:
        loss, rows = softmax_cross_entropy(
            transpose(x, order), labels, class_weights=class_weights, ignore_index=ignore_index,
            reduction=reduction, divisor=divisor, strategy=strategy, device=device,
        )  # fmt: skip
        return loss, transpose(rows, _back(order))
    given = Arguments(x)
    lines, leading = given.take_rows("x", x)
    count, classes = lines.shape
    held = _row_labels(given, labels, leading, classes, ignore_index, axis)
    weights, shapes = _class_weights(given, class_weights, classes), (leading, (*leading, classes))
    if reduction == "mean":
        weights = _shares(given, lines, held, weights, ignore_index)
        if weights is None:
            loss = given.nothing(lines, (), "float32", device, None, math.nan)
            return loss, given.nothing(lines, shapes[1], "float32", device, None)
    problem = SoftmaxCrossEntropy(
        count or 1, classes, divisor, weights is not None, int(ignore_index)
    )  # fmt: skip
    inputs = [lines, flattened(held, (count,)), *(() if weights is None else (weights,))]
    loss, dx = run_several(given, problem, inputs, strategy, device, (None, None), shapes)
    return (loss if reduction == "none" else reduce(loss, "sum")), dx


@plain
def loss_gradient(
    y: Array,
    targets: Array,
    loss: RowLoss = "squared_error",
    *,
    strategy: str | None = None,
    device: DeviceName | None = None,
) -> tuple[Array, Array]:
    """The loss, float32[rows], of each row of outputs y[rows, outputs]; and dy, of their mean.

    ``loss`` is of a row's outputs k, and its label T or the numbers t that are wanted:
    ``squared_error`` ``sum_j (k_j - t_j)^2``, ``half_squared_error`` half of it, ``missed`` ``1 -
    k_T``, ``squared_distance`` ``sum_j k_j (j - T)^2``, and of one output ``sigmoid_cross_entropy``
    in nats. ``targets`` are int32[rows] (or int64 in the CPU's memory), below the number of
    outputs, or of one output its value, or 0 or 1; of a squared error also float32[rows, outputs].
    Another label is an error in the CPU's memory; on a GPU, where the call would have to wait, such
    a label is no output's. Raises `InputError`.

    Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.2.1 and 6.2.2.
    """
    given = Arguments(y, "y")
    rows = given.take("y", y, "rows, outputs")
    count, outputs = rows.shape
    numbers = len(getattr(targets, "shape", ())) == 2
    problem = LossGradient(count, outputs, loss, numbers)
    if numbers:
        wanted = given.take("targets", targets, "rows, outputs", dtypes=FLOAT32)
    else:
        # The value of one output may be any integer.
        any_value = outputs == 1 and loss in ("squared_error", "half_squared_error")
        classes = 2 if loss == "sigmoid_cross_entropy" else outputs
        limit = None if any_value else classes
        wanted = taken_labels(given, "targets", targets, "rows", limit, None)
    losses, dy = run_several(given, problem, [rows, wanted], strategy, device, (None, None))
    return losses, dy


def _axis_last(name: str, x: Any, axis: Any) -> tuple[int, ...] | None:
    """The order of axes that brings one after the others; None where it is there already. Raises
    `InputError` for an axis that x has not."""
    rank = len(getattr(x, "shape", ()))
    if not rank:
        # The checks of x say what is wrong with it.
        return None
    if type(axis) is not int or not -rank <= axis < rank:
        raise InputError("axis", repr(axis), f"an axis of {name}, which has {rank}")
    axis %= rank
    if axis == rank - 1:
        return None
    return (*(one for one in range(rank) if one != axis), axis)


def _back(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order that undoes another."""
    return tuple(map(order.index, range(len(order))))


def _class_weights(given: Arguments[Any], weights: Any, classes: int) -> Taken | None:
    if weights is None:
        return None
    held = given.take("class_weights", weights, "classes")
    if held.shape != (classes,):
        expected = f"({classes},), one for each class of x"
        raise InputError("class_weights", f"shape {tuple(held.shape)}", expected)
    return held


def _row_labels(
    given: Arguments[Any],
    labels: Any,
    shape: tuple[int, ...],
    classes: int,
    ignored: int,
    axis: int,
) -> Taken:
    """A label for each row of scores."""
    held = taken_labels(given, "labels", labels, ANY, classes, ignored)
    if tuple(held.shape) != shape:
        expected = f"{shape}, x's shape without axis {axis}"
        raise InputError("labels", f"shape {tuple(held.shape)}", expected)
    return held


def _shares(
    given: Arguments[Any], lines: Taken, labels: Taken, weights: Taken | None, ignored: int
) -> Taken | None:
    """The weight of each class in the mean of all rows that count; None where none counts."""
    classes = lines.shape[1]
    seen = on_the_host(given, labels).reshape(-1)
    counted = seen[(seen != ignored) & (seen >= 0) & (seen < classes)]
    factors = np.ones(classes) if weights is None else on_the_host(given, weights)
    total = factors.astype(np.float64)[counted].sum()
    if total == 0:
        return None
    shares = (factors / total).astype(np.float32)
    if not isinstance(lines, CudaArray):
        return shares
    return on_the_gpu(given, lines, shares)


_softmax = remembered(Softmax)
