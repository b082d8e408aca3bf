"""Gives integers out of their range to every integer array that a public function takes.

A child process of `test_out_of_range` runs it, which may crash: it says what it is about to do.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

import rooftile
from rooftile.errors import RooftileError

POOL = ("max", 2)
WILD = (-(2**31), -(10**8), -100, -1, 0, 3, 7, 10**5, 10**8, 2**31 - 1)
WILDER = (*WILD, -(2**63), 2**40, 2**62)


def wild(generator, shape, kind):
    """Integers of which some, or all, are far out."""
    made = generator.integers(0, 4, shape).astype(kind)
    values = np.array(WILDER if np.dtype(kind).itemsize == 8 else WILD, kind)
    where = generator.integers(0, 3, shape) == 0
    made[where] = generator.choice(values, int(where.sum()))
    return made


def numbers(*shape):
    return np.ones(shape, np.float32)


def index_kind(generator):
    return generator.choice([np.int32, np.int64])


def cross_entropy(generator, strategy):
    labels = wild(generator, 6, index_kind(generator))
    ignored = int(generator.choice(WILD))
    weights = numbers(4) if generator.integers(2) else None
    loss, dx = rooftile.softmax_cross_entropy(
        numbers(6, 4), labels, ignore_index=ignored, class_weights=weights, strategy=strategy
    )
    kept = labels != ignored
    assert ((labels[kept] >= 0) & (labels[kept] < 4)).all()
    assert not loss[~kept].any()
    assert not dx[~kept].any()


def row_loss(generator, strategy):
    loss = generator.choice(["squared_error", "missed", "squared_distance"])
    labels = wild(generator, 6, index_kind(generator))
    rooftile.loss_gradient(numbers(6, 4), labels, str(loss), strategy=strategy)
    assert ((labels >= 0) & (labels < 4)).all()


def of_one_output(generator, strategy):
    loss = str(generator.choice(["squared_error", "missed", "sigmoid_cross_entropy"]))
    rooftile.loss_gradient(numbers(6, 1), wild(generator, 6, np.int32), loss, strategy=strategy)


def places(generator):
    """Places in windows of 2x2 of a convolution with 6 columns, some of them elsewhere."""
    rows, columns = np.mgrid[:3, :3] * 2
    where = np.broadcast_to(rows * 6 + columns, (1, 2, 3, 3)).astype(np.int32)
    return np.where(
        generator.integers(0, 2, where.shape), where, wild(generator, where.shape, "i4")
    )


def weights_gradient(generator, strategy):
    where = places(generator).astype(np.int32)
    options = {"where": where, "pool": POOL, "strategy": strategy}
    rooftile.conv2d_weights_gradient(numbers(1, 1, 8, 8), numbers(1, 2, 3, 3), 3, **options)


def input_gradient(generator, strategy):
    where = places(generator).astype(np.int32)
    options = {"where": where, "pool": POOL, "strategy": strategy}
    rooftile.conv2d_input_gradient(numbers(1, 2, 3, 3), numbers(2, 1, 3, 3), (8, 8), **options)


def columns(generator, strategy):
    rooftile.permute_columns(numbers(3, 5), wild(generator, 4, np.int32), strategy=strategy)


def scattered(generator, strategy):
    index = wild(generator, 6, index_kind(generator))
    function = str(generator.choice(["add", "min", "exchange", "multiply"]))
    rooftile.scatter(numbers(4), index, numbers(6), function, strategy=strategy)


def counted_up(generator, strategy):
    index = wild(generator, 6, index_kind(generator))
    rooftile.scatter(np.zeros(4, np.int32), index, None, "increment", strategy=strategy)


def offsets_of(generator):
    offsets = np.sort(wild(generator, 6, index_kind(generator)))
    if generator.integers(2):
        offsets[0], offsets[-1] = 0, 9
    return offsets if generator.integers(2) else generator.permutation(offsets)


def reduced(generator, strategy):
    rooftile.segmented_reduce(numbers(9), offsets_of(generator), strategy=strategy)


def scanned(generator, strategy):
    rooftile.segmented_scan(numbers(9), offsets_of(generator), strategy=strategy)


def counts(generator, strategy):
    x = wild(generator, 50, np.int32)
    bins = 4
    if generator.integers(2):
        bins = np.sort(wild(generator, 5, np.int32))
    rooftile.histogram(x, bins, strategy=strategy)


def compacted(generator, strategy):
    # A bool of NumPy may hold any byte.
    mask = generator.integers(0, 256, 999).astype(np.uint8).view(bool)
    made = rooftile.compact(np.arange(999, dtype=np.int32), mask, strategy=strategy)
    assert len(made) <= 999
    assert ((made >= 0) & (made < 999)).all()


def ordered(generator, strategy):
    x = wild(generator, 99, index_kind(generator))
    assert (rooftile.sort(x, strategy=strategy) == np.sort(x)).all()


def of_triplets(generator, strategy):
    down, across = (wild(generator, 6, index_kind(generator)) for _ in range(2))
    matrix = rooftile.sparse((numbers(6), (down, across)), shape=(4, 4), format=strategy)
    rooftile.spmv(matrix, numbers(4))


def of_rows(generator, strategy):
    offsets = np.sort(wild(generator, 5, index_kind(generator)))
    if generator.integers(2):
        offsets[:] = 0, 1, 3, 4, 6
    across = wild(generator, 6, index_kind(generator))
    matrix = rooftile.sparse((numbers(6), across, offsets), shape=(4, 4), format=strategy)
    rooftile.spmm(matrix, numbers(4, 2))


def of_packets(generator, strategy):
    matrix = rooftile.sparse(np.tri(9, dtype=np.float32))
    packets = rooftile.to_packets(matrix, 4)
    name = str(generator.choice(["places", "offsets", "tail_rows", "tail_columns"]))
    array = getattr(packets, name)
    changed = wild(generator, array.shape, np.int64).astype(array.dtype)
    made = rooftile.from_packets(dataclasses.replace(packets, **{name: changed}))
    rooftile.spmv(made, numbers(9))


CASES = {
    "softmax_cross_entropy": ((cross_entropy,), "softmax_cross_entropy"),
    "loss_gradient": ((row_loss, of_one_output), "loss_gradient"),
    "conv2d_weights_gradient": ((weights_gradient,), "conv2d_weights_gradient"),
    "conv2d_input_gradient": ((input_gradient,), "conv2d_input_gradient"),
    "permute_columns": ((columns,), "permute_columns"),
    "scatter": ((scattered, counted_up), "scatter"),
    "segmented_reduce": ((reduced,), "segmented_reduce"),
    "segmented_scan": ((scanned,), "segmented_scan"),
    "histogram": ((counts,), "histogram"),
    "compact": ((compacted,), "compact"),
    "sort": ((ordered,), "sort"),
    "sparse": ((of_triplets, of_rows), ("csr", "coo", "csc", "ell", "jds", "bsr")),
    "from_packets": ((of_packets,), (None,)),
}
"""What takes integers, by function, and its strategies on the CPU: an operation's, or names."""


def strategies_of(told):
    from rooftile.strategies import ladder

    return told if isinstance(told, tuple) else (None, *(rung.name for rung in ladder(told)))


def main(seed, count):
    for name, (functions, told) in CASES.items():
        for strategy in strategies_of(told):
            for function in functions:
                generator = np.random.default_rng(seed)
                refused = 0
                for number in range(count):
                    print(name, function.__name__, strategy, number, flush=True)
                    try:
                        function(generator, strategy)
                    except RooftileError:
                        refused += 1
                print(f"{name} refused {refused}", flush=True)
    print("done")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
