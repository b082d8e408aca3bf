"""Small products whose warps have terms of their own on tensor cores, emulated on the host."""

import numpy as np
import pytest

from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import strategy
from tests.emulation.emulator import judged as judged_text
from tests.emulation.emulator import missing

from .test_emulated_matmul import BOTH_NARROW, LAYOUTS, check_hard_inputs, judged

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(37, 150, 21), (32, 264, 20)])
@pytest.mark.parametrize("precision", ["fp16", "tf32", "ieee"])
def test_every_warp_has_terms_of_its_own_on_the_cores(precision, sizes, layout, tmp_path):
    """Lines that begin on 16 bytes and that do not; warps whose terms end before others'."""
    rung = strategy("matmul", f"own_terms_{precision}", "cuda")
    config = {"WARPS": 4}
    verdict = judged(rung, Matmul(*sizes, *layout), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(37, 151, 21), (40, 264, 24)])
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_own_terms_of_16_bits(precision, sizes, layout, tmp_path):
    rung = strategy("matmul", f"own_terms_{precision}", "cuda")
    config = {"WARPS": 4, **BOTH_NARROW}
    verdict = judged(rung, Matmul(*sizes, *layout), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("precision", ["tf32", "ieee"])
def test_own_terms_of_hard_inputs(precision, tmp_path):
    rung = strategy("matmul", f"own_terms_{precision}", "cuda")
    check_hard_inputs(rung, Matmul(18, 97, 20), tmp_path, {"WARPS": 4})


RANGED = Matmul(18, 97, 20)
SCALES = ((1.0, 1.0), (1e-38, 1e30), (1e38, 1e-20), (1e-20, 1e-15))


def ranged(scales):
    """With a number that rounds to infinity at the largest scale."""
    a, b = (np.clip(array, -3.4, 3.4) for array in RANGED.random(0))
    a[3, 5] = 3.4025
    return [a * np.float32(scales[0]), b * np.float32(scales[1])]


@pytest.mark.parametrize("scales", SCALES)
def test_own_terms_of_float32s_whole_range(scales, tmp_path):
    """Numbers whose low parts TF32 cannot hold, or that round to infinity there."""
    rung = strategy("matmul", "own_terms_ieee", "cuda")
    verdict = judged(rung, RANGED, tmp_path, {"WARPS": 4}, ranged(scales))
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("scales", "wrong"),
    [
        (SCALES[1], ("least < SMALL", "false")),
        (SCALES[2], ("y[n] - y[n] != 0.0f", "false")),
        (SCALES[0], ("w < WARPS", "w < WARPS - 1")),
        (SCALES[0], ("tf32(x - tf32(x))", "0.0f")),
    ],
)
def test_wrong_own_terms_are_caught(scales, wrong, tmp_path):
    rung = strategy("matmul", "own_terms_ieee", "cuda")
    verdict = judged_text(rung, RANGED, ranged(scales), tmp_path, {"WARPS": 4}, wrong)
    assert not verdict.passed


@pytest.mark.parametrize("wrong", [("0x7632", "0x5410"), ("line[at + e] <<", "line[at] <<")])
def test_wrong_own_terms_of_16_bits_are_caught(wrong, tmp_path):
    rung, problem = strategy("matmul", "own_terms_fp16", "cuda"), Matmul(37, 151, 24)
    # Lines of a are no whole 16 bytes; those of b are.
    given, config = problem.random(3), {"WARPS": 4, "X_NARROW": 1}
    assert judged_text(rung, problem, given, tmp_path, config).passed
    assert not judged_text(rung, problem, given, tmp_path, config, wrong).passed


def test_sums_of_own_terms_wait_for_all_warps(tmp_path):
    rung = strategy("matmul", "own_terms_ieee", "cuda")
    wrong = ("bool sure = !__syncthreads_or(", "bool sure = !(")
    judged(rung, RANGED, tmp_path, {"WARPS": 4}, sanitizer="thread")
    with pytest.raises(AssertionError):
        judged_text(
            rung, RANGED, RANGED.random(3), tmp_path, {"WARPS": 4}, wrong, sanitizer="thread"
        )
