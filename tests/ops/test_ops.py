"""Problems and their references, against sums written out in Python."""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rooftile import _blas
from rooftile.errors import InputError
from rooftile.ops import (
    ACTIVATIONS,
    Array,
    Conv2d,
    Linear,
    Pool,
    Pool2d,
    Precision,
    Problem,
    Softmax,
    activation,
    admits,
    check_precision,
    named,
    narrowed,
    parse,
    rounded,
    widened,
)
from rooftile.ops.layers import correlation
from rooftile.ops.patterns.reduce import Reduce


@dataclass(frozen=True)
class SumOfBatch(Problem):
    """An output that belongs to all items of a batch, and to none."""

    operation: ClassVar[str] = "made_up_sum"
    batch: int

    @property
    def arrays(self):
        return Array("x", (self.batch,), batched=True), Array("sum", (), role="output")

    @property
    def flops(self):
        return self.batch

    def reference(self, x):
        return x.sum(dtype=np.float64)


def test_an_output_of_the_whole_batch_is_refused():
    with pytest.raises(InputError, match="output sum of made_up_sum: got no batch axis"):
        _ = SumOfBatch(3).output_arrays
    assert len(SumOfBatch(3).input_arrays) == 1


def test_one_element_is_altered_in_one_array():
    problem = Linear(2, 3, 4)
    arrays = problem.random(0)
    for which in range(3):
        altered = problem.altered(arrays, which, 1)
        for i, (before, after) in enumerate(zip(arrays, altered, strict=True)):
            assert int((before != after).sum()) == (i == which)
        assert np.abs(altered[which] - arrays[which]).max() == pytest.approx(4)
    integers = Reduce((50,), dtype="uint8")
    (before,) = integers.random(0)
    (after,) = integers.altered((before,), 0, 1)
    assert int((before != after).sum()) <= 1
    assert after.dtype == before.dtype


def draw(problem, seed=0):
    generator = np.random.default_rng(seed)
    shapes = (problem.input_shape, *problem.parameter_shapes.values())
    return [generator.standard_normal(shape, np.float32) for shape in shapes]


def written_out(p, x, w, b):
    """The convolution, one term after the other."""
    z = np.zeros((p.batch, p.maps, *p.conv_size))
    for n, m, i, j in np.ndindex(*z.shape):
        top, left = i * p.stride[0] - p.padding[0], j * p.stride[1] - p.padding[1]
        inside = 0 <= top <= p.height - p.mask[0] and 0 <= left <= p.width - p.mask[1]
        if p.boundary == "interior" and not inside:
            continue
        z[n, m, i, j] = b[m]
        for c, r, q in np.ndindex(p.channels, *p.mask):
            y, k = top + r, left + q
            if p.boundary == "replicate":
                y, k = min(max(y, 0), p.height - 1), min(max(k, 0), p.width - 1)
            if 0 <= y < p.height and 0 <= k < p.width:
                z[n, m, i, j] += float(x[n, c, y, k]) * float(w[m, c, r, q])
    return z


@given(
    st.integers(1, 3), st.integers(1, 3), st.tuples(st.integers(1, 7), st.integers(1, 7)),
    st.integers(1, 3), st.tuples(st.integers(1, 5), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(0, 3), st.integers(0, 2)),
    st.sampled_from([1, 1500, 2**20]), st.integers(1, 3),
    st.sampled_from(["zero", "replicate", "interior"]), st.integers(0, 99),
)  # fmt: skip
def test_the_reference_of_conv2d_is_the_sum_written_out(
    batch, channels, size, maps, mask, stride, padding, block_bytes, threads, boundary, seed
):
    assume(all(m <= s + 2 * p for s, m, p in zip(size, mask, padding, strict=True)))
    problem = Conv2d(batch, channels, *size, maps, mask, stride, padding, boundary=boundary)
    x, w, b = draw(problem, seed)
    with pytest.MonkeyPatch.context() as patch:
        # A row a block, a few of them, or all; over more threads than there may be cores.
        patch.setattr(correlation, "BLOCK_BYTES", block_bytes)
        patch.setattr(_blas, "threads", lambda: threads)
        reference, magnitude = problem.reference(x, w, b), problem.magnitude(x, w, b)
    assert reference.dtype == magnitude.dtype == np.float64
    terms = written_out(problem, *map(np.abs, (x, w, b)))
    assert (np.abs(reference - written_out(problem, x, w, b)) <= 1e-14 * terms).all()
    np.testing.assert_allclose(magnitude, terms, rtol=1e-14)


def test_infinities_and_nan_reach_the_outputs_over_them_alone():
    problem = Conv2d(1, 1, 5, 6, 2, (3, 3))
    x, w, b = draw(problem)
    x[0, 0, 4, 0], x[0, 0, 0, 5] = np.inf, np.nan
    y = problem.reference(x, w, b)
    assert np.isnan(y[:, :, 0, 3]).all()
    assert np.isinf(y[:, :, 2, 0]).all()
    assert np.isfinite(y).sum() == y.size - 4
    assert not np.isfinite(problem.magnitude(x, w, b)[:, :, [0, 2], [3, 0]]).any()


def test_the_mask_is_not_flipped():
    x = np.arange(3, dtype=np.float32).reshape(1, 1, 1, 3)
    w = np.array([1, 10], np.float32).reshape(1, 1, 1, 2)
    y = Conv2d(1, 1, 1, 3, 1, (1, 2)).reference(x, w, np.zeros(1, np.float32))
    np.testing.assert_array_equal(y.ravel(), [10, 21])


POOLED = {"max": np.max, "average": np.mean, "l2": np.linalg.norm}


@pytest.mark.parametrize("kind", POOLED)
def test_fused_parts_come_after_one_another(kind):
    pool = Pool.of(kind, (2, 3), (3, 2), "tanh")
    problem = Conv2d(1, 2, 9, 8, 3, (3, 3), activation="relu", pool=pool)
    x, w, b = draw(problem)
    y = np.maximum(written_out(problem, x, w, b), 0)
    got = problem.reference(x, w, b)
    assert got.shape == problem.output_shape == (1, 3, 2, 2)
    for n, m, i, j in np.ndindex(*got.shape):
        expected = POOLED[kind](y[n, m, 3 * i : 3 * i + 2, 2 * j : 2 * j + 3])
        assert got[n, m, i, j] == pytest.approx(math.tanh(expected), rel=1e-12)


def test_a_pool_with_weights_and_a_bias():
    problem = Pool2d(2, 3, 7, 9, Pool.of("weighted", (2, 3), (3, 2), "sigmoid"), bias=True)
    assert problem.parameter_shapes == {"weights": (2, 3), "bias": (3,)}
    x, w, b = draw(problem)
    got, before = problem.reference(x, w, b), problem.magnitude(x, w, b)
    for n, c, i, j in np.ndindex(*problem.output_shape):
        terms = x[n, c, 3 * i : 3 * i + 2, 2 * j : 2 * j + 3].astype(np.float64) * w
        assert got[n, c, i, j] == pytest.approx(1 / (1 + math.exp(-terms.sum() - b[c])), rel=1e-6)
        assert before[n, c, i, j] == pytest.approx(np.abs(terms).sum() + abs(b[c]), rel=1e-6)
    # Six products, six additions, a bias for each of the 2 x 4 windows of six planes.
    assert problem.flops == 2 * 3 * 2 * 4 * 13
    assert problem.moved()["weights"] == 24


def test_pools_and_boundaries_from_text():
    problem = parse(
        "conv2d",
        "channels=1,height=9,width=9,maps=2,mask=3,padding=1,boundary=replicate,pool=l2:2:1:tanh",
    )
    assert problem.pool == Pool.of("l2", 2, 1, "tanh")
    assert problem.boundary == "replicate"
    pooled = parse("pool2d", "channels=2,height=9,width=9,pool=weighted:3x2,bias=1")
    assert (pooled.pool, pooled.bias) == (Pool.of("weighted", (3, 2)), True)
    for wrong in ("max", "max:2:2:swish", "max:2:2:relu:2"):
        with pytest.raises(InputError):
            Pool.from_text(wrong)


def test_what_conv2d_does_not_fuse_is_refused():
    for wrong, argument in (
        ({"boundary": "valid"}, "boundary"),
        ({"pool": Pool.of("weighted", 2)}, "pool"),
    ):
        with pytest.raises(InputError) as caught:
            Conv2d(1, 1, 9, 9, 1, (3, 3), padding=(1, 1), **wrong)
        assert caught.value.argument == argument
    # Where nothing lies beyond the image, nothing is replicated or left out.
    assert Conv2d(1, 1, 9, 9, 1, (3, 3), boundary="interior").ghosts == "zero"


@given(
    st.integers(1, 30), st.integers(1, 30), st.integers(1, 6), st.integers(1, 6),
    st.integers(1, 7), st.integers(1, 7),
)  # fmt: skip
def test_a_pool_reads_what_its_windows_cover(height, width, ph, pw, sh, sw):
    if ph > height or pw > width:
        with pytest.raises(InputError, match="pool window"):
            Pool.of("max", (ph, pw), (sh, sw)).output_size(height, width)
        return
    pool = Pool.of("max", (ph, pw), (sh, sw))
    rows, columns = pool.output_size(height, width)
    covered = {i * sh + a for i in range(rows) for a in range(ph)}
    across = {j * sw + b for j in range(columns) for b in range(pw)}
    assert pool.inputs_read(height, width) == (len(covered), len(across))
    assert max(covered) < height <= max(covered) + sh + ph


def test_flops_and_bytes_count_what_the_pool_reads():
    problem = named("conv2d", "lenet-conv2", 10)
    assert problem.conv_size == (34, 34)
    assert problem.conv_read == (32, 32)
    assert problem.output_shape == (10, 16, 8, 8)
    assert problem.flops == 2 * 10 * 16 * 32 * 32 * 4 * 49
    weights, images, results = 16 * 4 * 49 + 16, 4 * 40 * 40, 16 * 8 * 8
    assert problem.bytes == 4 * (weights + 10 * (images + results))
    assert problem.intensity == problem.flops / problem.bytes


def test_linear_and_its_magnitude():
    problem = Linear(3, 4, 2, "sigmoid")
    x, w, b = draw(problem)
    z = np.array(
        [[sum(float(a) * float(c) for a, c in zip(r, v, strict=True)) for v in w] for r in x]
    )
    np.testing.assert_allclose(problem.reference(x, w, b), 1 / (1 + np.exp(-z - b)), rtol=1e-6)
    assert (problem.magnitude(x, w, b) >= np.abs(z + b)).all()
    assert problem.flops == 2 * 3 * 4 * 2


def test_softmax_sums_to_one_and_ignores_a_shift():
    problem = Softmax(4, 9)
    (x,) = draw(problem)
    y = problem.reference(x)
    np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(problem.reference(x + np.float32(64)), y, rtol=1e-4)


@pytest.mark.parametrize(
    "problem",
    [named("conv2d", "stride-2"), named("pool2d", "lenet-pool2"), Linear(2, 3, 4), Softmax(2, 3)],
)
def test_problems_are_values(problem):
    assert isinstance(problem, Problem)
    assert hash(problem) == hash(problem.with_batch(problem.batch))
    assert problem.with_batch(7).batch == 7
    assert problem.with_batch(7).with_batch(problem.batch) == problem
    assert 0 < problem.shrunk().flops <= problem.flops
    assert type(problem).__name__ in repr(problem)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_are_slopes(name):
    f = activation(name)
    z = np.array([-5.0, -1.3, -0.2, 0.3, 1.1, 4.0])
    h = 1e-6
    slope = (f.value(z + h) - f.value(z - h)) / (2 * h)
    np.testing.assert_allclose(f.derivative(z, f.value(z)), slope, atol=1e-8)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_keep_nan_and_survive_extremes(name):
    f = activation(name)
    assert np.isnan(f.value(np.array([np.nan]))).all()
    with np.errstate(over="raise", invalid="raise"):
        assert not np.isnan(f.value(np.array([-1e4, 1e4]))).any()


@pytest.mark.parametrize(
    ("argument", "build"),
    [
        ("batch", lambda: Conv2d(0, 1, 4, 4, 1, (1, 1))),
        ("channels", lambda: Conv2d(1, True, 4, 4, 1, (1, 1))),
        ("mask_height", lambda: Conv2d(1, 1, 4, 4, 1, (0, 1))),
        ("stride_width", lambda: Conv2d(1, 1, 4, 4, 1, (1, 1), stride=(1, 0))),
        ("padding", lambda: Conv2d(1, 1, 4, 4, 1, (1, 1), padding=(-1, 0))),
        ("weights", lambda: Conv2d(1, 1, 4, 4, 1, (7, 1), padding=(1, 1))),
        ("activation", lambda: Conv2d(1, 1, 4, 4, 1, (1, 1), activation="softplus")),
        ("pool window", lambda: Conv2d(1, 1, 4, 4, 1, (3, 3), pool=Pool.of("max", 3))),
        ("inputs", lambda: Linear(1, 0, 1)),
        ("classes", lambda: Softmax(1, -3)),
        ("height", lambda: Pool2d(1, 1, 2.0, 4, Pool.of("max", 1))),
        ("pool stride", lambda: Pool.of("max", 2, (1, 2, 3))),
        ("activation", lambda: activation("gelus")),
        ("activation", lambda: activation(["relu"])),
        ("precision", lambda: check_precision("ieee754")),
    ],
)
def test_shapes_that_do_not_fit_name_the_argument(argument, build):
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.argument == argument


def test_admission():
    names = get_args(Precision)
    admitted = {pair for pair in itertools.product(names, repeat=2) if admits(*pair)}
    assert admitted == {(name, name) for name in names} | {(name, "ieee") for name in names}


_bits = npst.arrays(np.uint32, 64, elements=st.integers(0, 2**32 - 1))
_DROPPED = {"tf32": 13, "fp16": 13, "bf16": 16}


@given(bits=_bits, precision=st.sampled_from(list(_DROPPED)))
def test_rounding_is_to_the_nearest_that_the_operands_hold(bits, precision):
    values = bits.view(np.float32)
    result = rounded(values, precision)
    assert np.array_equal(np.isnan(result), np.isnan(values))
    dropped = _DROPPED[precision]
    exact = np.isfinite(values) & (np.abs(values) < 6e4) & (np.abs(values) > 2.0**-14)
    # The two neighbours that the type holds; the nearer one, or the even one between them.
    below = (bits & np.uint32(0xFFFFFFFF << dropped & 0xFFFFFFFF)).view(np.float32)
    above = ((bits >> dropped) + 1 << dropped).astype(np.uint32).view(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        to_below, to_above = np.abs(values - below), np.abs(values - above)
        distance = np.abs(values - result)
    assert np.array_equal(distance[exact], np.minimum(to_below, to_above)[exact])
    ties = exact & (to_below == to_above)
    assert not (result.view(np.uint32)[ties] >> dropped & 1).any()
    assert np.array_equal(rounded(result, precision), result, equal_nan=True)


@given(bits=_bits, precision=st.sampled_from(["fp16", "bf16"]))
def test_narrow_bits_hold_what_was_rounded(bits, precision):
    values = bits.view(np.float32)
    back = widened(narrowed(values, precision), precision)
    assert np.array_equal(back, rounded(values, precision), equal_nan=True)


def test_other_precisions_round_nothing():
    values = np.array([1 + 2**-23, np.inf, -0.0], np.float32)
    assert rounded(values, "ieee") is values
    assert rounded(values, "fast") is values


def test_shapes_are_parsed_from_pairs():
    text = "channels=3,height=64,width=32,maps=8,mask=5x3,padding=2x1,pool=max:2x1:3,stride=2"
    assert parse("conv2d", text, 4) == Conv2d(
        4, 3, 64, 32, 8, (5, 3), (2, 2), (2, 1), pool=Pool.of("max", (2, 1), 3)
    )
    assert parse("conv2d", "mnist-conv", 2) == named("conv2d", "mnist-conv", 2)
    stored = parse("conv2d", "mnist-conv stored x=float16,out=float16:channels_last", 2)
    assert stored == named("conv2d", "mnist-conv", 2).stored(
        x="float16", out="float16:channels_last"
    )
    assert parse("linear", "inputs=3,outputs=4,activation=relu") == Linear(1, 3, 4, "relu")


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ("conv3d", "a=1"), ("conv2d", "lenet"), ("conv2d", "sides=4"), ("conv2d", "channels=3"),
        ("linear", "inputs=three,outputs=1"), ("pool2d", "channels=1,height=4,width=4,pool=max"),
    ],
)  # fmt: skip
def test_shapes_that_cannot_be_parsed(operation, text):
    with pytest.raises(InputError):
        parse(operation, text)


def test_magnitude_bounds_the_reference():
    problem = Conv2d(2, 3, 8, 9, 4, (3, 3), padding=(1, 1), pool=Pool.of("average", 2))
    x, w, b = draw(problem)
    assert (problem.magnitude(x, w, b) >= np.abs(problem.reference(x, w, b))).all()
    assert problem.reduction == 3 * 9 + 1
    assert math.prod(problem.output_size) == 16
