"""The rungs that are CUDA only, on tensor cores, in 16 bits or with the bulk copy engine: their
texts run on a GPU; each compiles without one."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.expected import Expected
from rooftile.ops import Conv2d, Pool
from rooftile.ops.layers.conv2d import NAMED
from rooftile.strategies import ladder
from tests.support.compiling import check_compiles
from tests.support.ladder_checks import PROBLEMS, check, check_any, draw_config, examples, inputs
from tests.support.storage import stored_by

RUNGS = [
    rung for rung in ladder("conv2d", "cuda") if rung.devices == ("cuda",) and not rung.requires
]
NARROW = [rung for rung in RUNGS if rung.narrow]
FOLDED = [rung for rung in RUNGS if rung.name.startswith("pool_folded")]
DIRECT = [rung for rung in NARROW if rung.name.startswith("direct_tile")]

FOLDED_PROBLEMS = (
    # The LeNet blocks, a few images.
    Conv2d(3, 1, 86, 86, 4, (7, 7), activation="relu", pool=Pool.of("max", 2)),
    Conv2d(3, 4, 40, 40, 16, (7, 7), activation="relu", pool=Pool.of("max", 4)),
    # Odd sizes, ghost cells, an average, maps off the groups, rows and columns left over.
    Conv2d(2, 2, 15, 21, 5, (3, 5), (1, 1), (1, 2), "sigmoid", Pool.of("average", 2)),
    Conv2d(2, 3, 23, 18, 3, (5, 3), activation="tanh", pool=Pool.of("max", (2, 4))),
    # Odd width without ghost cells; windows eight wide; one map; a mask of one row.
    Conv2d(2, 1, 19, 37, 1, (1, 6), activation="relu", pool=Pool.of("average", (4, 8))),
    Conv2d(1, 2, 9, 8, 9, (2, 2), pool=Pool.of("max", 2)),
    # A mask larger than the image, over the padding only in part.
    Conv2d(1, 1, 3, 4, 2, (5, 6), (1, 1), (2, 3), pool=Pool.of("max", 2)),
)


def taken(rungs=RUNGS):
    """Every rung with every problem that it takes."""
    named = [make(min(batch, 3)) for make, batch in NAMED.values()]
    return [
        pytest.param(rung, problem, id=f"{rung.name}-{number}")
        for rung in rungs
        for number, problem in enumerate((*FOLDED_PROBLEMS, *PROBLEMS, *named))
        if rung.why_not(problem) is None
    ]


@pytest.mark.parametrize(("rung", "problem"), taken())
def test_is_right_repeatable_and_stays_inside_its_output(rung, problem, cuda_device):
    check(rung, problem, cuda_device, seed=1)


@pytest.mark.parametrize(("rung", "problem"), taken())
@pytest.mark.parametrize("specials", [(0,), (1, 2)], ids=["input", "parameters"])
def test_nan_and_infinity_propagate(rung, problem, specials, cuda_device):
    check(rung, problem, cuda_device, seed=2, specials=specials)


_sizes = st.integers(1, 3)
_windows = st.tuples(st.sampled_from([2, 4, 6]), st.sampled_from([2, 4, 8]))


@pytest.mark.parametrize("rung", FOLDED, ids=lambda rung: rung.name)
@settings(examples, max_examples=12)
@given(data=st.data())
def test_any_problem_that_folds_with_any_config(rung, cuda_device, data):
    window = data.draw(_windows)
    mask = data.draw(st.tuples(st.integers(1, 7), st.integers(1, 7)))
    padding = data.draw(st.sampled_from([(0, 0), (0, 0), (1, 2)]))
    rows, columns = data.draw(_sizes), data.draw(_sizes)
    height = max(1, rows * window[0] + mask[0] - 1 - 2 * padding[0] + data.draw(st.integers(0, 1)))
    width = max(
        1, columns * window[1] + mask[1] - 1 - 2 * padding[1] + data.draw(st.integers(0, 1))
    )
    try:
        problem = Conv2d(
            data.draw(st.integers(1, 9)), data.draw(_sizes), height, width,
            data.draw(st.integers(1, 17)), mask, (1, 1), padding,
            data.draw(st.sampled_from(["none", "relu", "sigmoid"])),
            Pool.of(data.draw(st.sampled_from(["max", "average"])), window),
        )  # fmt: skip
    except InputError:
        return
    assume(rung.why_not(problem) is None)
    check(rung, problem, cuda_device, config=draw_config(rung, problem, data.draw))


@pytest.mark.parametrize("rung", DIRECT, ids=lambda rung: rung.name)
@settings(examples, max_examples=12)
@given(data=st.data())
def test_any_problem_with_any_config(rung, cuda_device, data):
    check_any(rung, cuda_device, data)


@pytest.mark.parametrize(("rung", "problem"), taken(NARROW))
@pytest.mark.parametrize("formats", [(0, 1), (1, 0), (1, 1)])
def test_reads_and_writes_narrow_arrays(rung, problem, formats, cuda_device):
    x, *parameters = inputs(problem, 3)
    config = dict(zip(("X_NARROW", "OUT_NARROW"), formats, strict=True))
    stored, _ = stored_by(rung, problem, config)
    x = x.astype(stored.input_arrays[0].numpy)
    bound = rung.bind(stored, parameters, cuda_device)
    out = np.full(problem.output_shape, np.nan, stored.output_arrays[0].numpy)
    bound(x, out)
    verdict = Expected(stored, x, *parameters).judge(out, bound.errors)
    assert verdict.passed, verdict


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_compiles_without_spills(rung):
    shapes = {name: make(batch) for name, (make, batch) in NAMED.items()}
    # Strides differ in sizes alone.
    others = ("mnist-conv", "stride-1", "stride-2", "stride-3")
    layers = [shapes[name] for name in shapes if name not in others]
    taken = [layer for layer in layers if rung.why_not(layer) is None]
    check_compiles(rung, taken or [Conv2d(64, 256, 56, 56, 64, (1, 1))])


@pytest.mark.parametrize(
    "rung", [rung for rung in FOLDED if rung.narrow and not rung.wgmma], ids=lambda rung: rung.name
)
def test_results_of_warps_are_staged_where_four_can_be_stored_together(rung):
    pool = Pool.of("max", 2)
    for width, staged in ((22, 1), (20, 0)):  # rows of ten results, or nine
        problem = Conv2d(3, 1, 26, width, 4, (3, 3), pool=pool)
        config = rung.config(problem, {"BAND_ROWS": 2})
        assert rung.defaults(problem)["STAGED"] == staged
        direct, held = (
            rung.steps(problem, {**config, "STAGED": value})[0].launch.shared_bytes
            for value in (0, 1)
        )
        assert held - direct >= 4 * problem.maps * 2 * problem.output_size[1]


@pytest.mark.parametrize("rung", DIRECT, ids=lambda rung: rung.name)
def test_direct_tile_in_16_bits_prefers_blocks_of_one_warp(rung):
    images = Conv2d(10000, 1, 28, 28, 8, (5, 5), (1, 1), (2, 2), "relu")
    config = rung.defaults(images)
    assert (config["BAND_ROWS"], config["BLOCK_BANDS"]) == (4, 7)
    # A row of 128 columns would be one warp's, but four more of five rows are ghost cells.
    assert rung.defaults(Conv2d(100, 1, 128, 128, 8, (5, 5), (1, 1), (2, 2)))["BAND_ROWS"] > 1


@pytest.mark.parametrize("rung", FOLDED, ids=lambda rung: rung.name)
def test_what_does_not_fold_is_refused(rung):
    pool = Pool.of("max", 2)
    for problem, reason in (
        (Conv2d(1, 1, 9, 9, 1, (3, 3)), "folds a pool"),
        (Conv2d(1, 1, 9, 9, 1, (3, 3), pool=Pool.of("max", 3)), "folded 2x2"),
        (Conv2d(1, 1, 9, 9, 1, (3, 3), pool=Pool.of("max", 2, 1)), "tile the image"),
        (Conv2d(1, 1, 19, 19, 1, (3, 3), (2, 2), pool=pool), "stride"),
        (Conv2d(1, 1, 19, 19, 1, (3, 8), pool=pool), "8 wide"),
        (Conv2d(1, 64, 19, 19, 1, (3, 3), pool=pool), "slabs of weights"),
        (Conv2d(1, 1, 19, 19, 999, (3, 3), pool=pool), "maps"),
    ):
        with pytest.raises(UnsupportedProblem, match=reason):
            rung.check(problem)
