"""Groups and dilation: right by every rung that takes them, refused by all others."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooftile
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.verify import verify
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import ladder

DEPTHWISE = Conv2d(2, 6, 11, 13, 12, (3, 3), (2, 1), (1, 1), "relu", groups=6)
GROUPED = Conv2d(2, 6, 12, 10, 4, (3, 2), padding=(1, 0), pool=Pool.of("max", 2), groups=2)
DILATED = Conv2d(2, 3, 14, 12, 4, (3, 3), padding=(2, 3), dilation=(2, 3), boundary="interior")
ONE_SIDED = Conv2d(2, 3, 9, 20, 4, (3, 3), padding=(1, 0), padding_after=(0, 3))
STRIDED = Conv2d(2, 4, 31, 45, 6, (2, 4), (3, 2), (1, 2), "gelu", dilation=(2, 3), groups=2)
ASKED = ({"groups": 4}, {"dilation": (2, 2)}, {"padding_after": (0, 1)})
NAMES = ["depthwise", "grouped", "dilated", "strided", "one_sided"]
PROBLEMS = (DEPTHWISE, GROUPED, DILATED, STRIDED, ONE_SIDED)


def by_definition(x, weights, bias, stride, padding, dilation, groups):
    """The sums of the definition in float64, one tap at a time; padding is by side."""
    maps, each, high, wide = weights.shape
    around = ((0, 0), (0, 0), *padding)
    padded = np.pad(x.astype(np.float64), around)
    extent = [(n - 1) * d + 1 for n, d in zip((high, wide), dilation, strict=True)]
    rows, columns = (
        (size - reach) // step + 1
        for size, reach, step in zip(padded.shape[2:], extent, stride, strict=True)
    )
    made = np.zeros((len(x), maps, rows, columns)) + bias[:, None, None]
    for m, c, p, q in np.ndindex(maps, each, high, wide):
        top, left = p * dilation[0], q * dilation[1]
        plane = padded[:, m // (maps // groups) * each + c, top:, left:]
        plane = plane[:, : (rows - 1) * stride[0] + 1, : (columns - 1) * stride[1] + 1]
        made[:, m] += weights[m, c, p, q] * plane[:, :: stride[0], :: stride[1]]
    return made


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_it_is_the_definition(data):
    def pair(least, most):
        return data.draw(st.tuples(*(st.integers(least, most),) * 2))

    groups, each, multiplier = (data.draw(st.integers(1, 3)) for _ in range(3))
    mask, stride, dilation, padding = pair(1, 3), pair(1, 2), pair(1, 3), (pair(0, 2), pair(0, 2))
    size = tuple((n - 1) * d + 1 + k for n, d, k in zip(mask, dilation, pair(0, 5), strict=True))
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    x = generator.standard_normal((2, groups * each, *size)).astype(dtype)
    weights = generator.standard_normal((groups * multiplier, each, *mask)).astype(dtype)
    bias = generator.standard_normal(groups * multiplier).astype(dtype)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    expected = by_definition(x, weights, bias, **options)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-12}
    np.testing.assert_allclose(rooftile.conv2d(x, weights, bias, **options), expected, **tolerance)
    prepared = rooftile.Conv2d(weights, bias, **options)
    np.testing.assert_allclose(prepared(x), expected, **tolerance)


@pytest.mark.parametrize("asked", ASKED, ids=["groups", "dilation", "padding_after"])
@pytest.mark.parametrize("kind", ["cpu", "cuda", "opencl"])
def test_each_rung_takes_it_or_says_that_it_does_not(asked, kind):
    (word,) = asked
    problem = Conv2d(1, 4, 9, 9, 4, (3, 3), **asked)
    answers = {one.name: one.why_not(problem) for one in ladder("conv2d", kind)}
    taking = {name for name, why in answers.items() if why is None}
    assert taking >= ({"loops", "threads"} if kind == "cpu" else {"naive", "naive_transposed"})
    for name, why in answers.items():
        assert why is None or word in why or name == "double" or "returns" in why, (name, why)


@pytest.mark.parametrize(
    "problem", PROBLEMS, ids=["depthwise", "grouped", "dilated", "strided", "one_sided"]
)
@pytest.mark.parametrize("rung", ["loops", "threads", "register_tile"])
def test_rungs_of_the_cpu(problem, rung):
    if rung == "register_tile":
        problem = dataclasses.replace(problem, boundary="zero")
    (found,) = (one for one in ladder("conv2d", "cpu") if one.name == rung)
    verify(problem, found, hard=True).raise_if_wrong()
    for one in problem.smallest():
        verify(one, found, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize(
    "problem", PROBLEMS, ids=["depthwise", "grouped", "dilated", "strided", "one_sided"]
)
@pytest.mark.parametrize("rung", ["naive", "naive_transposed"])
def test_rungs_of_a_gpu(problem, rung, device):
    kind = device.description.kind
    (found,) = (one for one in ladder("conv2d", kind) if one.name == rung)
    verify(problem, found, device=device, hard=True).raise_if_wrong()


def test_neighbours_of_a_depthwise_problem_are_depthwise():
    for one in (*DEPTHWISE.neighbours(), *DEPTHWISE.smallest(), DEPTHWISE.shrunk()):
        assert one.channels == one.groups > 1
        assert one.maps % one.groups == 0


def test_flops_and_bytes_count_the_channels_of_a_group():
    dense = Conv2d(1, 8, 10, 10, 8, (3, 3), padding=(1, 1))
    depthwise = Conv2d(1, 8, 10, 10, 8, (3, 3), padding=(1, 1), groups=8)
    assert depthwise.flops * 8 == dense.flops
    assert dense.bytes - depthwise.bytes == 4 * 9 * (64 - 8)
    assert "8 groups" in depthwise.in_words()
    assert "dilation 2 x 3" in DILATED.in_words()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"groups": 4}, "weights"),
        ({"groups": 0}, "groups"),
        ({"groups": 2.0}, "groups"),
        ({"dilation": 0}, "dilation"),
        ({"dilation": (1, 2, 3)}, "dilation"),
        ({"dilation": 9}, "weights"),
        ({"padding": "full"}, "padding"),
        ({"padding": ((1, 2), (3,))}, "padding"),
        ({"padding": ((1, 2), (0, -1))}, "padding"),
    ],
)
def test_what_does_not_fit_is_refused(options, named):
    x, weights = np.ones((1, 6, 12, 12), np.float32), np.ones((4, 3, 3, 3), np.float32)
    with pytest.raises(InputError, match=named):
        rooftile.conv2d(x, weights, **{"groups": 2, **options})


def test_a_named_rung_that_does_not_take_groups_says_so():
    x, weights = np.ones((1, 6, 12, 12), np.float32), np.ones((6, 1, 3, 3), np.float32)
    with pytest.raises(UnsupportedProblem, match="groups"):
        rooftile.conv2d(x, weights, groups=6, strategy="unrolled")


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("boundary", ["zero", "replicate", "wrap"])
def test_same_padding_is_onnx_s_same_upper(stride, dilation, boundary):
    generator = np.random.default_rng(stride)
    x = generator.standard_normal((2, 3, 13, 16)).astype(np.float32)
    weights = generator.standard_normal((4, 3, 2, 4)).astype(np.float32)
    options = {"stride": stride, "dilation": dilation, "boundary": boundary}
    found = rooftile.conv2d(x, weights, padding="same", **options)
    assert found.shape[2:] == (-(-13 // stride), -(-16 // stride))
    widths = []
    for size, taps in ((13, 2), (16, 4)):
        total = max((-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
        widths.append((total // 2, total - total // 2))
    mode = {"zero": "constant", "replicate": "edge", "wrap": "wrap"}[boundary]
    padded = np.pad(x, ((0, 0), (0, 0), *widths), mode)
    expected = rooftile.conv2d(padded, weights, stride=stride, dilation=dilation)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    prepared = rooftile.Conv2d(weights, padding="same", **options)
    np.testing.assert_allclose(prepared(x), expected, rtol=1e-5, atol=1e-5)
    assert prepared.options().get("padding") == ("same" if boundary != "wrap" else None)


def test_equal_padding_on_both_sides_is_the_same_problem():
    one = Conv2d(1, 3, 9, 9, 4, (3, 3), padding=(1, 1), padding_after=(1, 1))
    assert one == Conv2d(1, 3, 9, 9, 4, (3, 3), padding=(1, 1))
