"""Rungs that only some GPUs run, emulated on the host: right, inside their arrays, without races.

What the emulator is told to look for it finds: see the wrong texts at the end.
"""

import copy
import re
from dataclasses import replace

import numpy as np
import pytest

from rooftile import nn
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import ERROR_MODELS, Chain, Conv2d, Linear, Pool
from rooftile.strategies import ladder, strategy
from tests.emulation.emulator import emulate, missing, translated
from tests.support.hard_inputs import HARD, SMALL, hard, kept_bits, small
from tests.support.ladder_checks import inputs

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

FEW = Conv2d(1, 1, 30, 34, 4, (7, 7), activation="relu", pool=Pool.of("max", 2))
DEEP = Conv2d(1, 4, 24, 24, 16, (7, 7), activation="relu", pool=Pool.of("max", 4))
PADDED = Conv2d(
    3, 3, 23, 27, 7, (6, 5), padding=(1, 2), activation="gelu", pool=Pool.of("average", 2)
)
BANDS = Conv2d(3, 3, 24, 26, 7, (6, 5), pool=Pool.of("max", 2))
CHANNELS = Conv2d(
    1, 33, 9, 11, 40, (3, 2), padding=(1, 1), activation="relu", pool=Pool.of("max", 2)
)
LAYER = Linear(70, 104, 130, "gelu")
OFF_GRID = Conv2d(1, 3, 15, 22, 5, (3, 3), activation="relu", pool=Pool.of("max", 2))
PROBLEMS = (FEW, DEEP, PADDED)
# No warp to spare, which would repeat a task: the same results to the same places.
LENET = nn.architecture("lenet5").problems(2)[:2]
# A block has a part of one image: those of another one do the same elsewhere.
ONE_IMAGE = nn.architecture("lenet5").problems(1)[:2]
CUDA_ONLY = [
    rung for rung in ladder("conv2d", "cuda") if rung.devices == ("cuda",) and not rung.requires
]
# Large tiles take seconds, so these have a small problem of their own.
IMPLICIT = [rung for rung in CUDA_ONLY if rung.name.startswith("implicit_gemm")]
GATHERED = [rung for rung in CUDA_ONLY if rung.name.startswith("gathered_gemm")]
ONE_TAP = [rung for rung in CUDA_ONLY if rung.name.startswith("pointwise")]
RUNGS = [rung for rung in CUDA_ONLY if rung not in (*IMPLICIT, *GATHERED, *ONE_TAP)]
NARROW = [rung for rung in RUNGS if rung.narrow]
BULK = strategy("conv2d", "direct_bulk", "cuda")
IEEE, IEEE_FEW = (
    strategy("conv2d", name, "cuda") for name in ("pool_folded_wgmma_ieee", "pool_folded_ieee")
)


def taken(rungs, problems):
    """Each rung with the problems that it takes; at bfloat16 one, since it has float16's text."""
    return [
        pytest.param(rung, problem, id=f"{rung.name}-{number}")
        for rung in rungs
        for number, problem in enumerate(problems[:1] if rung.precision == "bf16" else problems)
        if rung.why_not(problem) is None
    ]


def judged(rung, problem, arrays, folder, config=None, **options):
    x, *parameters = arrays
    out = emulate(rung, problem, x, parameters, config, folder, **options)
    model = ERROR_MODELS[rung.precision]
    if (config or {}).get("OUT_NARROW"):
        model = replace(model, results=rung.narrow)
    return Expected(problem, x, *parameters).judge(out, model)


def ordinary(rung, problem, folder, config=None, seed=0):
    """Of finite numbers, so that nothing may be computed on memory that nobody wrote."""
    return judged(rung, problem, random_inputs(problem, seed), folder, config, finite=True)


@pytest.mark.parametrize(("rung", "problem"), taken(RUNGS, PROBLEMS))
def test_a_convolution_is_right(rung, problem, tmp_path):
    verdict = ordinary(rung, problem, tmp_path)
    assert verdict.passed, verdict


def test_rows_of_many_taps_are_not_written_out(tmp_path):
    problem = Conv2d(1, 2, 43, 39, 8, (11, 11), (4, 4), (2, 2), activation="relu")
    verdict = ordinary(strategy("conv2d", "direct_tile", "cuda"), problem, tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize("specials", [(0,), (1, 2)], ids=["input", "parameters"])
@pytest.mark.parametrize(("rung", "problem"), taken(RUNGS, (FEW, BANDS)))
def test_infinities_and_nan_go_where_they_must(rung, problem, specials, tmp_path):
    verdict = judged(rung, problem, inputs(problem, 2, specials), tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize(("rung", "problem"), taken(NARROW, (FEW, DEEP)))
def test_arrays_of_16_bits(rung, problem, tmp_path):
    config = {"X_NARROW": 1, "OUT_NARROW": 1}
    verdict = ordinary(rung, problem, tmp_path, config, seed=1)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    "problem",
    [
        # Bands that leave rows over; rows that no window reads; a stride; few columns.
        Conv2d(2, 1, 95, 96, 4, (3, 3), activation="relu", pool=Pool.of("max", 2)),
        Conv2d(2, 1, 43, 28, 3, (3, 3), activation="relu", pool=Pool.of("max", (3, 2))),
        Conv2d(2, 1, 37, 44, 2, (3, 4), (2, 3), activation="sigmoid"),
        Conv2d(2, 1, 96, 1, 1, (2, 1)),
    ],
)
@pytest.mark.parametrize("rows", [1, 2])
def test_bands_by_the_bulk_copy_engine(problem, rows, tmp_path):
    config = {"THREAD_ROWS": rows, "BAND_ROWS": 8}
    verdict = ordinary(BULK, problem, tmp_path, config)
    assert verdict.passed, verdict


PORTABLE = {"conv2d": (OFF_GRID, replace(OFF_GRID, pool=None)), "linear": (Linear(5, 39, 17),)}
SHARED = [
    taken([rung], problems)[0]
    for operation, problems in PORTABLE.items()
    for rung in ladder(operation, "opencl")
    if not rung.requires
    if re.search(r"__shared__|SHARED_ARRAY", rung.whole_text)
]


@pytest.mark.parametrize(("rung", "problem"), SHARED)
def test_nothing_is_computed_on_shared_memory_that_nobody_wrote(rung, problem, tmp_path):
    """What runs on every device runs elsewhere for its results; OpenCL tells no more."""
    verdict = ordinary(rung, problem, tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", HARD)
def test_split_products_have_float32s_error(kind, tmp_path):
    problem = replace(BANDS, channels=2, mask=(6, 6))
    verdict = judged(IEEE, problem, hard(kind, problem, 1, 3), tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize(
    ("name", "pool"),
    [("pool_folded_wgmma", "max"), ("pool_folded_wgmma", "average"), ("implicit_gemm", "max")],
)
def test_small_numbers_keep_their_bits(name, kind, pool, tmp_path):
    problem, x, *parameters = small(kind, pool)
    rung = strategy("conv2d", f"{name}_ieee", "cuda")
    assert kept_bits(problem, emulate(rung, problem, x, parameters, {}, tmp_path), x, *parameters)


@pytest.mark.parametrize("kind", SMALL)
def test_bits_of_small_numbers_that_are_lost_are_noticed(kind, tmp_path):
    problem, x, *parameters = small(kind, "max")
    rung = wrong(IEEE, "value = __int_as_float(0x7fffffff);", "value = value;")
    out = emulate(rung, problem, x, parameters, {}, tmp_path)
    assert not kept_bits(problem, out, x, *parameters)


@pytest.mark.parametrize("rung", IMPLICIT, ids=lambda rung: rung.name)
def test_deep_channels_are_right(rung, tmp_path):
    verdict = ordinary(rung, CHANNELS, tmp_path)
    assert verdict.passed, verdict


LAST = {"X_LAST": 1, "OUT_LAST": 1}
ALL_FORMS = {**LAST, "X_NARROW": 1, "OUT_NARROW": 1}


@pytest.mark.parametrize(
    ("precision", "channels", "config"),
    [
        # As it lies; packed from its own order; pixels along the rows, which two warpgroups share.
        ("fp16", 40, ALL_FORMS),
        ("tf32", 36, LAST),
        ("bf16", 33, {**ALL_FORMS, "STRIPS": 0, "PIXELS": 32}),
        ("tf32", 33, {**LAST, "STRIPS": 0, "PIXELS": 48}),
    ],
)
def test_deep_channels_in_any_form(precision, channels, config, tmp_path):
    problem = replace(CHANNELS, batch=2, channels=channels, pool=None)
    rung = strategy("conv2d", f"implicit_gemm_{precision}", "cuda")
    verdict = ordinary(rung, problem, tmp_path, config)
    assert verdict.passed, verdict


STRIDED = Conv2d(3, 3, 27, 29, 7, (11, 11), (4, 4), (2, 2))
POOLED = Conv2d(2, 3, 23, 26, 20, (7, 7), (2, 2), (3, 3), "relu", Pool.of("max", 3, 2))
EVEN = Conv2d(3, 6, 14, 14, 16, (5, 5), activation="gelu")


@pytest.mark.parametrize(
    ("precision", "problem", "config"),
    [
        ("ieee", STRIDED, {}),
        ("ieee", EVEN, {**LAST, "TILE_IMAGES": 2, "WARP_PIXELS": 32, "WARPS": 8}),
        ("tf32", POOLED, {}),
        ("fp16", STRIDED, {}),
        ("fp16", POOLED, ALL_FORMS),
        # Pairs of channels.
        ("bf16", EVEN, {"X_NARROW": 1, "OUT_NARROW": 1}),
    ],
)
def test_few_channels_are_right(precision, problem, config, tmp_path):
    rung = strategy("conv2d", f"gathered_gemm_{precision}", "cuda")
    verdict = ordinary(rung, problem, tmp_path, config)
    assert verdict.passed, verdict


# One tap: maps and pixels off the grid, a sum of several slices.
TAP = Conv2d(2, 70, 5, 11, 19, (1, 1), activation="gelu")


@pytest.mark.parametrize(
    ("precision", "problem", "config"),
    [
        ("ieee", TAP, {}),
        ("tf32", TAP, LAST),
        ("fp16", replace(TAP, channels=72), ALL_FORMS),
        ("bf16", replace(TAP, height=4, width=12), {"X_NARROW": 1, "OUT_NARROW": 1}),
    ],
)
def test_one_tap_is_right(precision, problem, config, tmp_path):
    verdict = ordinary(
        strategy("conv2d", f"pointwise_{precision}", "cuda"), problem, tmp_path, config
    )
    assert verdict.passed, verdict


@pytest.mark.parametrize("kind", ["cancellation", "subnormal", "rounds to infinity"])
def test_gathered_split_products_have_float32s_error(kind, tmp_path):
    problem = replace(EVEN, activation="none")
    rung = strategy("conv2d", "gathered_gemm_ieee", "cuda")
    verdict = judged(rung, problem, hard(kind, problem, 1, 3), tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize("specials", [(0,), (1, 2)], ids=["input", "parameters"])
def test_infinities_and_nan_pass_zeros_around_weights(specials, tmp_path):
    rung = strategy("conv2d", "gathered_gemm_fp16", "cuda")
    verdict = judged(rung, EVEN, inputs(EVEN, 2, specials), tmp_path)
    assert verdict.passed, verdict


@pytest.mark.parametrize("precision", ["ieee", "tf32", "fp16", "bf16"])
@pytest.mark.parametrize(("name", "config"), [("mma", {}), ("warpgroups", {"CLUSTER": 1})])
def test_a_linear_layer_is_right(name, config, precision, tmp_path):
    rung = strategy("linear", f"{name}_{precision}", "cuda")
    verdict = ordinary(rung, LAYER, tmp_path, config)
    assert verdict.passed, verdict


def test_two_blocks_in_one_kernel_make_the_bits_of_two(tmp_path):
    first = Conv2d(3, 1, 28, 28, 5, (5, 5), activation="relu", pool=Pool.of("max", 2))
    second = Conv2d(3, 5, 12, 12, 16, (5, 5), activation="relu", pool=Pool.of("max", 2))
    chain = Chain((("first", first), ("second", second)))
    x, *parameters = random_inputs(chain, 0)

    def made(operation, name, problem, x, parameters, **config):
        rung = strategy(operation, f"{name}_fp16", "cuda")
        return emulate(rung, problem, x, parameters, config, tmp_path)

    between = made("conv2d", "pool_folded", first, x, parameters[:2], OUT_NARROW=1)
    apart = made("conv2d", "pool_folded_wgmma", second, between, parameters[2:], X_NARROW=1)
    together = made("network", "front", chain, x, parameters)
    np.testing.assert_array_equal(together, apart)
    narrow = made("network", "front", chain, x, parameters, X_NARROW=1)
    np.testing.assert_array_equal(narrow, apart)


@pytest.mark.parametrize(
    ("operation", "name", "problem"),
    [
        ("conv2d", "direct_bulk", LENET[0][1]),
        ("conv2d", "pool_folded_ieee", ONE_IMAGE[0][1]),
        ("conv2d", "pool_folded_wgmma_ieee", ONE_IMAGE[1][1]),
        # It is pool_folded and pool_folded_wgmma in one.
        ("network", "front_fp16", Chain(tuple(LENET))),
        ("conv2d", "implicit_gemm_ieee", CHANNELS),
        ("conv2d", "gathered_gemm_ieee", Conv2d(2, 6, 10, 10, 16, (5, 5))),
        ("conv2d", "pointwise_ieee", TAP),
        ("linear", "mma_fp16", LAYER),
        ("linear", "warpgroups_fp16", LAYER),
    ],
)
def test_threads_do_not_race(operation, name, problem, tmp_path):
    rung = strategy(operation, name, "cuda")
    x, *parameters = random_inputs(problem, 0)
    config = {"CLUSTER": 1} if name.startswith("warpgroups") else None
    emulate(rung, problem, x, parameters, config, tmp_path, sanitizer="thread")


def wrong(rung, right, text):
    """The rung with other words in its text."""
    changed = copy.copy(rung)
    assert right in rung.whole_text
    changed.__dict__["text"] = rung.whole_text.replace(right, text)
    return changed


@pytest.mark.parametrize(("rung", "problem"), [(IEEE, DEEP), (IEEE_FEW, FEW)])
def test_a_wrong_number_is_caught(rung, problem, tmp_path):
    rung = wrong(rung, "1.0f / LOW_SCALE", "0.0f")
    assert not judged(rung, problem, random_inputs(problem, 0), tmp_path).passed


@pytest.mark.parametrize(
    ("right", "text"),
    [
        ("multiply_add(small + 4 * t, own->low, b[s][0] + 2 * t);", ""),
        ("exponent - scale", "exponent"),
        ("(turn + s % PATCH_SLABS) % RING", "s % PATCH_SLABS"),
    ],
)
def test_wrong_splits_of_few_maps_are_caught(right, text, tmp_path):
    rung = wrong(IEEE_FEW, right, text)
    assert not judged(rung, FEW, random_inputs(FEW, 0), tmp_path).passed


def test_what_lies_beside_an_array_is_caught(tmp_path):
    rung = wrong(BULK, "end = READ(rows < ROWS ? rows : ROWS)", "end = READ(rows + 8)")
    with pytest.raises(AssertionError, match="AddressSanitizer"):
        judged(rung, FEW, random_inputs(FEW, 0), tmp_path)


@pytest.mark.parametrize(
    ("name", "right"), [("direct_tile", "e < read;"), ("direct_bulk", "e < HELD_SIZE;")]
)
def test_a_computation_on_what_nobody_wrote_is_caught(name, right, tmp_path):
    problem = Conv2d(2, 1, 16, 20, 3, (3, 3), pool=Pool.of("max", 2))
    rung = strategy("conv2d", name, "cuda")
    assert ordinary(rung, problem, tmp_path).passed
    with pytest.raises(AssertionError, match=r"FPE|nobody wrote"):
        ordinary(wrong(rung, right, "e < 0;"), problem, tmp_path)


def test_one_number_beyond_shared_memory_is_caught(tmp_path):
    rung = wrong(IEEE, "((unsigned*)raw)[e] = 0", "((unsigned*)raw)[e + 1] = 0")
    with pytest.raises(AssertionError, match="AddressSanitizer"):
        judged(rung, DEEP, random_inputs(DEEP, 0), tmp_path)


def test_an_address_that_a_load_cannot_have_is_caught(tmp_path):
    rung = wrong(BULK, "__align__(16) float held[HELD_SIZE]", "float spare, held[HELD_SIZE]")
    rung = wrong(rung, "patch - beyond", "patch + 1 - beyond")
    with pytest.raises(AssertionError, match=r"misaligned|alignment"):
        judged(rung, FEW, random_inputs(FEW, 0), tmp_path)


def test_a_race_is_caught(tmp_path):
    split = "back = round_band(own, tile, scales);"
    rung = wrong(IEEE, f"{split}\n        meet();", split)
    problem = ONE_IMAGE[1][1]
    x, *parameters = random_inputs(problem, 0)
    with pytest.raises(AssertionError, match="data race"):
        emulate(rung, problem, x, parameters, None, tmp_path, sanitizer="thread")


def test_an_unknown_instruction_is_said():
    with pytest.raises(NotImplementedError, match="frobnicate"):
        translated('asm volatile("frobnicate.sync %0;" : "+r"(x) :: "memory");')
