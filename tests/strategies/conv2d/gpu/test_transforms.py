"""What only the rungs that transform can get wrong: `winograd` and `fft`."""

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.judge.expected import Expected
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from rooftile.strategies.conv2d.cpu._toom_cook import toom_cook
from rooftile.strategies.conv2d.gpu.winograd._toom_cook_text import input_macro, output_macro
from tests.support.ladder_checks import check, inputs, run

TRANSFORMS = ["winograd", "fft"]


def apply(macro, vector, outputs):
    """A transform's text, which apart from its declarations is Python too."""
    text = macro.removeprefix("do {").removesuffix("} while (0)").replace("(from)", "given")
    for word, instead in (("float ", ""), ("{", ""), ("}", ""), (", ", "; "), ("(to)", "to")):
        text = text.replace(word, instead)
    names = {"given": vector, "to": np.zeros(outputs)}
    for statement in text.split(";"):
        exec(statement.replace("f *", " *").strip(), {}, names)
    return names["to"]


@pytest.mark.parametrize("taps", [3, 5, 7])
def test_the_text_is_the_matrices(taps):
    matrices = toom_cook(taps)
    vector = np.random.default_rng(taps).standard_normal(matrices.size)
    for macro, rows in ((input_macro, matrices.input), (output_macro, matrices.output)):
        matrix = np.array(rows, dtype=np.float64)
        assert np.allclose(apply(macro(matrices), vector, len(rows)), matrix @ vector)


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("mask", [(3, 3), (5, 5), (7, 4)])
def test_a_transform_that_overflows_is_no_result_that_overflows(name, mask, device):
    problem = Conv2d(1, 2, 21, 23, 3, mask, activation="relu", pool=Pool.of("average", 2))
    x, weights, bias = inputs(problem)
    x[0, 0, 9, 8] = x[0, 1, 3, 5] = np.float32(3e38)
    weights *= np.float32(0.1)
    rung = strategy("conv2d", name, "opencl")
    out = run(rung.bind(problem, (weights, bias), device), x)
    assert np.isfinite(out).all()
    assert Expected(problem, x, weights, bias).judge(out, "fast").passed


@pytest.mark.parametrize("name", TRANSFORMS)
def test_inputs_that_no_output_meets_leave_nothing_behind(name, device):
    # The pool drops the seventh row and column; the second tile reaches to the eighth.
    problem = Conv2d(1, 1, 9, 9, 2, (3, 3), pool=Pool.of("max", 2))
    x, weights, bias = inputs(problem)
    x[..., 8:, :] = x[..., 8:] = np.float32(1e30)
    out = run(strategy("conv2d", name, "opencl").bind(problem, (weights, bias), device), x)
    assert Expected(problem, x, weights, bias).judge(out, "fast").passed


@pytest.mark.parametrize("mask", [(32, 32), (17, 1), (1, 16), (9, 20)])
def test_fft_takes_masks_up_to_half_its_largest_tile(mask, device):
    check(strategy("conv2d", "fft", "opencl"), Conv2d(1, 2, 70, 40, 2, mask), device)


def test_fft_says_what_it_does_not_take():
    fft = strategy("conv2d", "fft", "opencl")
    assert "exceeds half of a tile of 64" in fft.why_not(Conv2d(1, 1, 40, 40, 1, (33, 1)))
    assert "stride" in fft.why_not(Conv2d(1, 1, 40, 40, 1, (3, 3), stride=(1, 2)))
    assert "GiB" in fft.why_not(Conv2d(1, 2048, 40, 40, 2048, (3, 3)))
    assert "leave gaps" in fft.why_not(Conv2d(1, 1, 9, 9, 1, (3, 3), pool=Pool.of("max", 1, 2)))


def test_a_tile_too_small_for_the_mask_is_refused(device):
    fft, problem = strategy("conv2d", "fft", "opencl"), Conv2d(1, 1, 40, 40, 1, (9, 3))
    with pytest.raises(InputError, match="exceeds half of a tile of 16"):
        check(fft, problem, device, config={"TILE": 16})


def test_winograd_says_what_it_does_not_take():
    winograd = strategy("conv2d", "winograd", "opencl")
    for problem, reason in (
        (Conv2d(1, 1, 40, 40, 1, (3, 3), stride=(2, 1)), "stride"),
        (Conv2d(1, 1, 40, 40, 1, (3, 5)), "masks, not"),
        (Conv2d(1, 1, 40, 40, 1, (3, 3), pool=Pool.of("max", 3)), "must tile 4x4"),
        (Conv2d(1, 1, 40, 40, 1, (3, 3), pool=Pool.of("max", 2, 1)), "must tile 4x4"),
    ):
        assert reason in winograd.why_not(problem)
