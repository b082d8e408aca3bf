"""What kernels make of weights before a product: the numbers that NumPy makes of them, bit by bit.

Rungs that are CUDA only have their preparation in headers that OpenCL takes too, so that it runs
here; as a part of them it is emulated (``tests/emulation``).
"""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile import nn
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Chain, Conv2d, Pool, rounded, widened
from rooftile.strategies import ladder, strategy
from rooftile.strategies.conv2d.cpu._toom_cook import toom_cook
from rooftile.strategies.conv2d.gpu.pool_folded._in_float16 import Tf32InFloat16
from rooftile.strategies.conv2d.gpu.pool_folded._split import ScaledFolded
from tests.support.ladder_checks import examples
from tests.support.preparing import prepared, text_of

FOLDED = Conv2d(2, 3, 24, 26, 7, (6, 5), pool=Pool.of("max", 2))
LENET = Chain(tuple(nn.architecture("lenet5").problems(2)[:2]))
FFT, WINOGRAD = (strategy("conv2d", name, "cuda") for name in ("fft", "winograd"))
IEEE, TF32, IEEE_FEW = (
    strategy("conv2d", name, "cuda")
    for name in ("pool_folded_wgmma_ieee", "pool_folded_wgmma_tf32", "pool_folded_ieee")
)
TF32_WINNERS = strategy("conv2d", "pool_folded_wgmma_tf32_argmax", "cuda")
NANS = np.array([0x7FC00000, 0x7FFFFFFF, 0xFF800001], np.uint32).view(np.float32)
"""Two of them would be carried into another exponent."""
SPECIAL = np.array(
    [np.inf, -np.inf, -0.0, 1e-40, 6e-8, 2.9e-8, -7e-6, 65519.0, 65520.0, 3.4e38,
     1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-9, 2.0**-24 * 1.5],
    np.float32,
)  # fmt: skip
"""Among them ties, subnormals, and what is beyond a format's range."""
ROUNDS = [
    rung
    for rung in (*ladder("conv2d", "cuda"), *ladder("network", "cuda"))
    if rung.name.startswith(("pool_folded", "direct_tile_", "front"))
    and rung.precision != "ieee"
    and not isinstance(rung, ScaledFolded | Tf32InFloat16)
]


def parameters_of(problem, special=True):
    """Random ones, the first of them hard to round."""
    _, *parameters = random_inputs(problem, 1)
    if special:
        for array in parameters:
            hard = np.concatenate([NANS, SPECIAL])[: array.size]
            array.reshape(-1)[: hard.size] = hard
    return parameters


def bits_of(values):
    """Their bits, those of every NaN alike."""
    nan = np.float32(np.nan).view(np.uint32)
    return np.where(np.isnan(values), nan, np.ascontiguousarray(values).view(np.uint32))


def check_rounding(rung, problem, device, text=None):
    parameters = parameters_of(problem)
    named = dict(zip(problem.parameter_shapes, parameters, strict=True))
    packed = rung.packed(problem, named, rung.config(problem))
    made = prepared(rung, problem, parameters, device, text=text)
    assert made
    for name, bits in made.items():
        weights = np.ascontiguousarray(packed[name.replace("rounded", "weights")]).ravel()
        found = bits.view(np.float32)
        if found.size < weights.size:
            found = widened(bits.view(np.uint16), rung.precision)
        expected = rounded(weights, rung.precision)
        np.testing.assert_array_equal(bits_of(found), bits_of(expected))


@pytest.mark.parametrize("rung", ROUNDS, ids=lambda rung: rung.name)
def test_weights_are_rounded_as_numpy_rounds_them(rung, device):
    check_rounding(rung, LENET if rung.operation == "network" else FOLDED, device)


def split_by_numpy(problem, weights, numbers):
    """The numbers of each weight, the maps' exponents, the least result that is not in doubt."""
    largest = np.where(np.isfinite(weights), np.abs(weights), 0).reshape(problem.maps, -1)
    exponents = np.frexp(np.maximum(largest.max(axis=1), np.float32(2.0**-112)))[1] - 15
    brought = np.ldexp(weights, -exponents.reshape(-1, 1, 1, 1))
    high = rounded(brought, "fp16")
    with np.errstate(invalid="ignore"):
        low = rounded((brought - high) * np.float32(2.0**11), "fp16")
    least, doubted = {1: (-14, 8192.0), 2: (-12, 32.0)}[numbers]
    small = ((weights != 0) & (np.abs(brought) < 2.0**least)).any()
    return [high, low][:numbers], exponents, doubted * problem.reduction if small else 0.0


def doubtful(problem):
    """Weights of whose maps the last alone has a small one."""
    weights = parameters_of(problem, special=False)[0]
    weights[-1].reshape(-1)[[0, -1]] = [1e-6, 1000.0]
    return weights


def check_split(rung, problem, device, text=None, weights=None):
    config = rung.config(problem)
    weights = doubtful(problem) if weights is None else weights
    made = prepared(rung, problem, (weights, parameters_of(problem)[1]), device, text=text)
    if rung.numbers == 1:
        weights = rounded(weights, "tf32")
    parts, exponents, least = split_by_numpy(problem, weights, rung.numbers)
    numbers = [rung.pack(problem, part, config)[: -weights.size] for part in parts]
    split, behind = made[rung.prepared], 4 * -(-problem.maps // 4) + 1
    folded = split[: numbers[0].size * rung.numbers // 2]
    # Of each row of a slab, or of a group's slab, first the high numbers, then the low ones.
    together = 32 * (behind - 1) if rung.wgmma else 256
    found = widened(folded.view(np.uint16), "fp16").reshape(-1, rung.numbers, together)
    for part, expected in enumerate(numbers):
        ordered = expected.reshape(-1, together)
        np.testing.assert_array_equal(bits_of(found[:, part]), bits_of(ordered))
    rest = split[folded.size :].view(np.float32)
    np.testing.assert_array_equal(rest[: problem.maps], exponents)
    assert rest[behind - 1] == least
    np.testing.assert_array_equal(bits_of(rest[behind:]), bits_of(weights.ravel()))


def decades(problem, seed, least=-60, most=60):
    """Weights whose maps differ by many decades."""
    weights = random_inputs(problem, seed)[1]
    scales = np.random.default_rng(seed).integers(least, most, (problem.maps, 1, 1, 1))
    return weights * np.exp2(scales).astype(np.float32)


@settings(examples, max_examples=5)
@given(
    st.integers(1, 4), st.integers(1, 9), st.integers(1, 7), st.integers(1, 7), st.integers(0, 9)
)
def test_weights_are_split_as_numpy_splits_them(device, channels, maps, height, width, seed):
    problem = Conv2d(2, channels, 16, 16, maps, (height, width), pool=Pool.of("max", 2))
    for rung in (IEEE, TF32, IEEE_FEW, TF32_WINNERS):
        if rung is not IEEE_FEW or rung.why_not(problem) is None:
            check_split(rung, problem, device, weights=decades(problem, seed))


def test_weights_that_are_hard_to_split(device):
    problem = Conv2d(2, 8, 16, 16, 6, (3, 3), pool=Pool.of("max", 2))
    weights = np.zeros((6, 8, 3, 3), np.float32)
    weights[0, 0, 0] = [1, np.inf, np.nan]
    weights[1, 0, 0] = [2.0**127, -(2.0**101), 2.0**80]
    # Its least number is nothing once it is scaled, but in doubt all the same.
    weights[2, 0, 0] = [2.0**127, 2.0**-149, 0]
    # Beyond float32's range nothing is scaled.
    weights[3, 0, 0] = [2.0**-149, 2.0**-126, -0.0]
    weights[4] = decades(problem, 3)[4]
    for rung in (IEEE, TF32):
        check_split(rung, problem, device, weights=weights)


@pytest.mark.parametrize(("weight", "doubted"), [(0, 0), (2.0**-26, 0), (2.0**-27, 73 * 32)])
def test_small_weights_say_from_where_on_results_are_in_doubt(weight, doubted, device):
    problem = Conv2d(2, 8, 16, 16, 3, (3, 3), pool=Pool.of("max", 2))
    weights = np.ones((3, 8, 3, 3), np.float32)
    weights[1, 2, 1, 1] = weight
    made = prepared(IEEE, problem, (weights, np.zeros(3, np.float32)), device)
    assert made["split"].view(np.float32)[-weights.size - 1] == doubted


def toom_cook_by_numpy(problem, weights):
    """``G w G^T`` (``G w`` for rows) as [positions][channels][taps][maps], in float64."""
    g = toom_cook(problem.mask[0]).weights_matrix()
    transformed = np.einsum("yp,mcpq->ycqm", g, weights.astype(np.float64))
    if problem.mask[0] == 7:
        return transformed
    return np.einsum("xq,ycqm->yxcm", g, transformed)


def spectra_by_numpy(problem, weights):
    """Conjugate spectra, scaled for the way back, in the kernels' order, in float64."""
    tile = FFT.config(problem)["TILE"]
    order = np.zeros(1, int)
    while order.size < tile:
        order = np.concatenate([2 * order, 2 * order + 1])
    spectra = np.fft.rfft2(weights.astype(np.float64), (tile, tile)).conj() / tile**2
    # The kept columns are the even ones and, of the odd, the first.
    kept = spectra[:, :, order[:, None], order[[*range(0, tile, 2), 1]]]
    return np.stack([kept.real, kept.imag], axis=-1)


def check_transform(rung, problem, device, text=None):
    weights, bias = parameters_of(problem, special=False)
    made = prepared(rung, problem, (weights, bias), device, text=text)["masks"].view(np.float32)
    exact = {WINOGRAD: toom_cook_by_numpy, FFT: spectra_by_numpy}[rung](problem, weights).ravel()
    # Rounded once, to the nearest: half a unit in the last place, and what float64 leaves.
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    off = np.abs(made - exact) - (0.5 + 1e-6) * unit
    assert off.max() <= 1e-15 * np.abs(exact).max()


TRANSFORMED = [
    pytest.param(rung, Conv2d(1, 5, 20, 21, 7, mask), id=f"{rung.name}-{mask[0]}x{mask[1]}")
    for rung, masks in (
        (WINOGRAD, ((3, 3), (5, 5), (7, 7), (7, 2))),
        (FFT, ((3, 5), (1, 1), (9, 16), (20, 2))),
    )
    for mask in masks
]


@pytest.mark.parametrize(("rung", "problem"), TRANSFORMED)
def test_masks_are_transformed_in_double_and_rounded_once(rung, problem, device):
    check_transform(rung, problem, device)


@pytest.mark.parametrize(("rung", "problem"), TRANSFORMED)
def test_devices_without_double_stay_within_the_budget(rung, problem, opencl_device):
    single = copy.copy(rung)
    single.__dict__["text"] = f"#undef cl_khr_fp64\n{rung.text}"
    x, *parameters = random_inputs(problem, 0)
    out = np.full(problem.output_shape, np.nan, np.float32)
    single.bind(problem, parameters, opencl_device)(x, out)
    verdict = Expected(problem, x, *parameters).judge(out, "fast")
    assert verdict.passed, verdict


CHECKS = {
    "pool_folded_wgmma_ieee": (FOLDED, check_split),
    "pool_folded_wgmma_tf32": (FOLDED, check_split),
    "pool_folded_ieee": (Conv2d(2, 1, 24, 26, 7, (7, 7), pool=Pool.of("max", 2)), check_split),
    "winograd": (Conv2d(1, 2, 20, 20, 3, (3, 3)), check_transform),
    "fft": (Conv2d(1, 2, 20, 20, 3, (3, 4)), check_transform),
}


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("pool_folded_fp16", "vstore_half_rte", "vstore_half_rtz"),
        ("pool_folded_bf16", "0x7fff + (bits >> 16 & 1)", "0x8000"),
        ("pool_folded_bf16", "value != value ?", "false ?"),
        ("pool_folded_tf32", "0xfff + (bits >> 13 & 1)", "0x1000"),
        ("direct_tile_fp16", "widened(NARROW(weight))", "(weight)"),
        ("pool_folded_wgmma_ieee", "NARROW(low(weight, widened(high)))", "NARROW(0.0f)"),
        ("pool_folded_wgmma_ieee", "map < MAPS ?", "map < MAPS - 1 ?"),
        ("pool_folded_wgmma_ieee", "apart > 0", "apart > 1"),
        ("pool_folded_wgmma_ieee", "e < FILTER_SIZE", "e < FILTER_SIZE - 1"),
        ("pool_folded_wgmma_tf32", "= GIVEN_WEIGHT(weights[i]);", "= weights[i];"),
        ("pool_folded_wgmma_tf32", "power(scale_of(span))", "1.0f"),
        ("pool_folded_ieee", "/ TOGETHER / SLABS", "/ TOGETHER % SLABS"),
        ("winograd", "(p * SIZE_X + q) * (TAPS", "(q * SIZE_X + p) * (TAPS"),
        ("winograd", "wide line[MASK_HEIGHT]", "float line[MASK_HEIGHT]"),
        ("fft", "- imaginary[at] * sines", "+ imaginary[at] * sines"),
        ("fft", "typedef double wide", "typedef float wide"),
    ],
)
def test_a_wrong_preparation_is_noticed(name, before, after, opencl_device):
    rung = strategy("conv2d", name, "cuda")
    problem, check = CHECKS.get(name, (FOLDED, check_rounding))
    text = text_of(rung, problem)
    assert before in text
    check(rung, problem, opencl_device)
    with pytest.raises(AssertionError):
        check(rung, problem, opencl_device, text.replace(before, after))
