"""`matmul` on tensor cores, emulated on the host: right, inside its arrays, without races."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from rooftile.lab.judge.expected import Expected
from rooftile.ops import ERROR_MODELS
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import ladder, strategy
from tests.emulation.emulator import emulate, missing
from tests.emulation.emulator import judged as judged_text
from tests.support.storage import stored_by

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]
SMALL_TILES = {"WARP_R": 16, "WARP_C": 16, "WARPS_R": 2, "WARPS_C": 2, "STAGES": 3, "BLOCKS": 1}

ALONE = {"SWAPPED": 0, "ROW_BLOCKS": 1, "COLUMN_BLOCKS": 1, "PARTS": 1}
"""Clusters of one block: others are not emulated."""
SPLIT = {"SWAPPED": 0, "ROW_BLOCKS": 1, "COLUMN_BLOCKS": 1}
"""And of the rung that splits both matrices before."""


SHARED = [r for r in ladder("matmul", "opencl") if "__shared__" in r.whole_text]


def judged(rung, problem, folder, config=None, arrays=None, **options):
    given = problem.random(3) if arrays is None else arrays
    out = emulate(rung, problem, tuple(given), (), config, folder, **options)
    model = ERROR_MODELS[rung.precision]
    if (config or {}).get("OUT_NARROW"):
        model = replace(model, results=rung.narrow)
    return Expected(problem, *given).judge(out, model)


@pytest.mark.parametrize(
    ("precision", "layout"),
    [*product(("fp16", "ieee"), LAYOUTS), *product(["tf32"], LAYOUTS[1:3]), ("bf16", LAYOUTS[1])],
)
def test_matrices_as_they_lie(precision, layout, tmp_path):
    """Rows of no whole 16 bytes; tiles, slices and pairs of results left over; two parts."""
    rung = strategy("matmul", f"mma_{precision}", "cuda")
    problem = Matmul(37, 105, 51, *layout)
    verdict = judged(rung, problem, tmp_path, {**SMALL_TILES, "PARTS": 2}, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_of_four(layout, tmp_path):
    rung = strategy("matmul", "mma_fp16", "cuda")
    verdict = judged(rung, Matmul(36, 68, 44, *layout), tmp_path, SMALL_TILES, finite=True)
    assert verdict.passed, verdict


BOTH_NARROW = {"X_NARROW": 1, "OUT_NARROW": 1}


SIZES = ((37, 105, 51), (36, 74, 46), (40, 136, 56))


@pytest.mark.parametrize(
    ("precision", "layout", "sizes", "parts"),
    [
        # How a matrix's lines are brought depends on how it lies and its sizes, how results are
        # stored on the sizes and the parts.
        *(("fp16", layout, sizes, 1) for layout in (LAYOUTS[0], LAYOUTS[3]) for sizes in SIZES),
        *(("bf16", layout, SIZES[0], 2) for layout in LAYOUTS[1:3]),
    ],
)
def test_matrices_of_16_bits(precision, layout, sizes, parts, tmp_path):
    """Lines that copies of a number, of two or of eight bring; results rounded at the end."""
    rung = strategy("matmul", f"mma_{precision}", "cuda")
    config = {**SMALL_TILES, **BOTH_NARROW, "PARTS": parts}
    verdict = judged(rung, Matmul(*sizes, *layout), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("precision", ["tf32", "ieee"])
def test_a_few_rows_by_default(precision, tmp_path):
    rung = strategy("matmul", f"mma_{precision}", "cuda")
    verdict = judged(rung, Matmul(5, 300, 132), tmp_path, finite=True)
    assert verdict.passed, verdict


def check_hard_inputs(rung, problem, tmp_path, config):
    for kind, arrays in problem.hard(1).items():
        verdict = judged(rung, problem, tmp_path, config, arrays)
        assert verdict.passed, (kind, verdict)


@pytest.mark.parametrize("precision", ["tf32", "ieee"])
def test_hard_inputs(precision, tmp_path):
    rung = strategy("matmul", f"mma_{precision}", "cuda")
    problem = Matmul(18, 97, 20)
    check_hard_inputs(rung, problem, tmp_path, {**SMALL_TILES, "PARTS": 2})


@pytest.mark.parametrize("scales", [(1e-33, 1e20), (1e38, 1e-30), (1e-20, 1e-15)])
def test_float32s_whole_range(scales, tmp_path):
    """Numbers whose low parts bfloat16 cannot hold, or that round to infinity there."""
    rung = strategy("matmul", "mma_ieee", "cuda")
    problem = Matmul(18, 97, 20)
    a, b = (np.clip(array, -3.4, 3.4) for array in problem.random(0))
    a[3, 5] = 3.4
    arrays = [a * np.float32(scales[0]), b * np.float32(scales[1])]
    verdict = judged(rung, problem, tmp_path, SMALL_TILES, arrays)
    assert verdict.passed, verdict


def test_threads_do_not_race(tmp_path):
    rung = strategy("matmul", "mma_fp16", "cuda")
    judged(rung, Matmul(37, 200, 51), tmp_path, SMALL_TILES, sanitizer="thread")


@pytest.mark.parametrize(
    ("precision", "layout"),
    [
        *product(("fp16", "ieee"), ((False, False), (True, True))),
        ("tf32", (False, False)),
        ("bf16", (True, True)),
    ],
)
def test_warpgroups_with_b_laid_before(precision, layout, tmp_path):
    """Tiles left over in all directions, and rows of tiles in parts."""
    rung = strategy("matmul", f"warpgroups_{precision}", "cuda")
    problem = Matmul(70, 104, 39, *layout)
    config = {"TILE_O": 32, "WARPGROUPS": 1, "CLUSTER": 1, "PARTS": 2}
    verdict = judged(rung, problem, tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("layout", [(True, False), (False, True)])
def test_warpgroups_mend_hard_inputs(layout, tmp_path):
    rung = strategy("matmul", "warpgroups_ieee", "cuda")
    problem = Matmul(70, 104, 39, *layout)
    config = {"TILE_O": 32, "WARPGROUPS": 1, "CLUSTER": 1, "PARTS": 1}
    check_hard_inputs(rung, problem, tmp_path, config)


@pytest.mark.parametrize(
    ("precision", "layout"), [*product(["fp16"], LAYOUTS), ("bf16", (False, False))]
)
def test_both_matrices_from_shared_memory(precision, layout, tmp_path):
    """Several tiles each way, the last ones partial; more slices than stages."""
    rung = strategy("matmul", f"bulk_{precision}", "cuda")
    problem = Matmul(72, 136, 200, *layout)
    config = {**ALONE, "WARPGROUPS": 1, "TILE_C": 128}
    verdict = judged(rung, problem, tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("precision", "layout"), [*product(["fp16"], LAYOUTS[:3]), ("bf16", (True, True))]
)
def test_matrices_of_16_bits_are_not_rounded_before(precision, layout, tmp_path):
    rung = strategy("matmul", f"bulk_{precision}", "cuda")
    problem = Matmul(72, 136, 200, *layout)
    config = {**ALONE, "WARPGROUPS": 1, "TILE_C": 128, **BOTH_NARROW}
    verdict = judged(rung, problem, tmp_path, config, finite=True)
    assert verdict.passed, verdict
    problem, config = stored_by(rung, problem, config)
    product, *others = rung.steps(problem, rung.config(problem, config))
    assert not others
    assert [argument.array for argument in product.arguments[:2]] == ["a", "b"]
    assert not rung.workspace(problem, rung.config(problem, config))


@pytest.mark.parametrize(
    "narrow", [{"X_NARROW": 1}, {"OUT_NARROW": 1}], ids=lambda n: next(iter(n))
)
@pytest.mark.parametrize(
    ("name", "config"),
    [("mma_bf16", SMALL_TILES), ("bulk_fp16", {**ALONE, "WARPGROUPS": 1, "TILE_C": 64})],
)
def test_inputs_or_results_of_16_bits(name, config, narrow, tmp_path):
    rung = strategy("matmul", name, "cuda")
    verdict = judged(rung, Matmul(40, 136, 72), tmp_path, {**config, **narrow}, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("sizes", [(72, 136, 200), (73, 136, 202)])
@pytest.mark.parametrize(
    ("layout", "swapped"), [(LAYOUTS[0], 1), (LAYOUTS[1], 0), (LAYOUTS[1], 1), (LAYOUTS[3], 0)]
)
def test_tf32_of_either_order(layout, swapped, sizes, tmp_path):
    """Stored by the copy engine and, where lines are not whole, by lanes."""
    rung, problem = strategy("matmul", "bulk_tf32", "cuda"), Matmul(*sizes, *layout)
    config = {**ALONE, "WARPGROUPS": 2, "TILE_C": 80, "SWAPPED": swapped}
    if rung.why_not(problem) is None:
        verdict = judged(rung, problem, tmp_path, config, finite=True)
        assert verdict.passed, verdict


@pytest.mark.parametrize(("sizes", "swapped"), [((44, 72, 136), 1), ((136, 72, 44), 0)])
def test_the_smaller_of_two_matrices_in_lines_of_terms_is_turned(sizes, swapped, tmp_path):
    rung, problem = strategy("matmul", "bulk_tf32", "cuda"), Matmul(*sizes, transpose_a=True)
    config = {**ALONE, "WARPGROUPS": 1, "TILE_C": 64, "SWAPPED": swapped}
    (turn, _), smaller = rung.steps(problem, rung.config(problem, config)), "ab"[1 - swapped]
    assert turn.arguments[:2] == (smaller, "turned")
    verdict = judged(rung, problem, tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("layout", "sizes"), [(LAYOUTS[0], (24, 136, 200)), (LAYOUTS[1], (24, 136, 202))]
)
def test_swapped_products_of_16_bits(layout, sizes, tmp_path):
    """Results of 16 bits, turned on their way out."""
    rung = strategy("matmul", "bulk_fp16", "cuda")
    config = {**ALONE, "WARPGROUPS": 2, "TILE_C": 32, "SWAPPED": 1, **BOTH_NARROW}
    verdict = judged(rung, Matmul(*sizes, *layout), tmp_path, config, finite=True)
    assert verdict.passed, verdict


def test_hard_inputs_rounded_by_the_copy_engine(tmp_path):
    rung, problem = strategy("matmul", "bulk_tf32", "cuda"), Matmul(20, 96, 20)
    config = {**ALONE, "WARPGROUPS": 1, "TILE_C": 16, "SWAPPED": 1}
    check_hard_inputs(rung, problem, tmp_path, config)


def test_a_group_of_tiles_and_the_rest(tmp_path):
    """More tiles across than a group has, and odd numbers of columns."""
    rung = strategy("matmul", "bulk_fp16", "cuda")
    problem = Matmul(136, 16, 1101, False, True)
    config = {**ALONE, "WARPGROUPS": 2, "TILE_C": 64}
    verdict = judged(rung, problem, tmp_path, config, finite=True)
    assert verdict.passed, verdict


def test_copies_and_products_do_not_race(tmp_path):
    rung = strategy("matmul", "bulk_fp16", "cuda")
    config = {**ALONE, "WARPGROUPS": 2, "TILE_C": 64}
    judged(rung, Matmul(40, 600, 72), tmp_path, config, sanitizer="thread")


@pytest.mark.parametrize("rung", SHARED, ids=lambda rung: rung.name)
def test_nothing_is_computed_on_shared_memory_that_nobody_wrote(rung, tmp_path):
    """What runs on every device runs elsewhere for its results; OpenCL tells no more."""
    problem = next(
        one for one in (Matmul(5, 39, 17, True), Matmul(16, 32, 8)) if rung.why_not(one) is None
    )
    verdict = judged(rung, problem, tmp_path, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("layout", "swapped"),
    [(LAYOUTS[0], 0), (LAYOUTS[0], 1), (LAYOUTS[1], 1), (LAYOUTS[2], 0), (LAYOUTS[3], 0)],
)
def test_both_matrices_split_before(layout, swapped, tmp_path):
    """Runs of places, tiles and slices left over; more slices than stages."""
    rung = strategy("matmul", "bulk_ieee", "cuda")
    config = {**SPLIT, "TILE_C": 80 if layout[1] or swapped else 64, "SWAPPED": swapped}
    verdict = judged(rung, Matmul(88, 328, 136, *layout), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("layout", LAYOUTS[1:3])
def test_matrices_split_before_mend_hard_inputs(layout, tmp_path):
    rung, problem = strategy("matmul", "bulk_ieee", "cuda"), Matmul(24, 104, 40, *layout)
    check_hard_inputs(rung, problem, tmp_path, {**SPLIT, "TILE_C": 64})


@pytest.mark.parametrize("scales", [(1e-33, 1e30), (1e37, 1e-30), (1e-20, 1e-15)])
def test_matrices_split_before_of_float32s_whole_range(scales, tmp_path):
    """Units beyond what scales undo, and whose product alone is in range."""
    rung, problem = strategy("matmul", "bulk_ieee", "cuda"), Matmul(24, 104, 40)
    arrays = [a * np.float32(s) for a, s in zip(problem.random(0), scales, strict=True)]
    arrays[0][3, 5] *= np.float32(1e-7)
    verdict = judged(rung, problem, tmp_path, {**SPLIT, "TILE_C": 64}, arrays)
    assert verdict.passed, verdict


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(37, 150, 21), (32, 264, 20)])
def test_every_warp_has_terms_of_its_own(layout, sizes, tmp_path):
    """Rows that begin on 16 bytes and that do not; warps whose terms end before others'."""
    rung = strategy("matmul", "warps_terms", "cuda")
    verdict = judged(rung, Matmul(*sizes, *layout), tmp_path, finite=True)
    assert verdict.passed, verdict


PIECES = Matmul(72, 136, 200)
SEVERAL = {**ALONE, "WARPGROUPS": 1, "TILE_C": 128, "X_NARROW": 1}
MEETING = "hold_piece(buffer, sum + c / 2, row);\n        __syncwarp();"


@pytest.mark.parametrize(
    "wrong",
    [
        ("down = row_of_warp(down);", "down += 0;"),
        ("line + down < rows", "line + down < rows - 1"),
        ("^ line % 8 * 16", "^ (line + at) % 8 * 16"),
        ("row_of_warp(int n) { return threadIdx.x / 32 % 4 * 16", "row_of_warp(int n) { return 16"),
    ],
)
def test_wrong_pieces_are_caught(wrong, tmp_path):
    rung = strategy("matmul", "bulk_fp16", "cuda")
    verdict = judged_text(rung, PIECES, PIECES.random(3), tmp_path, SEVERAL, wrong)
    assert not verdict.passed


def test_a_warp_waits_for_its_piece(tmp_path):
    rung = strategy("matmul", "bulk_fp16", "cuda")
    given = PIECES.random(3)
    right = judged_text(rung, PIECES, given, tmp_path, SEVERAL, sanitizer="thread")
    assert right.passed
    wrong = (MEETING, MEETING.split("\n")[0])
    with pytest.raises(AssertionError):
        judged_text(rung, PIECES, given, tmp_path, SEVERAL, wrong, sanitizer="thread")
