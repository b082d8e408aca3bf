"""Every rung of `conv3d`: right on ordinary and hard inputs, for any size, mask and boundary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.verify import verify
from rooftile.ops import named
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.strategies import ladder, strategy
from tests.support.course_conv3d import cases
from tests.support.every_rung import EveryRung, Wrong
from tests.support.unwritten import assert_same_bits, computes_on_new_memory

CPU, GPU = ladder("conv3d"), ladder("conv3d", "opencl")
PROBLEMS = (
    Conv3d(1, 1, 1, (1, 1, 1)),
    # A mask larger than the volume.
    Conv3d(2, 1, 3, (5, 5, 5)),
    # Several tiles along the rows, which begin on 16 bytes.
    Conv3d(5, 19, 136, (3, 3, 3)),
    Conv3d(6, 9, 70, (3, 2, 4), "valid"),
    # Nothing is lost before the first output, but behind the last.
    Conv3d(3, 8, 44, (1, 2, 2), "valid"),
    Conv3d(4, 5, 18, (3, 3, 3), "zero", 2, 3, 2, "batch"),
)


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (Conv3d(8, 8, 32, (3, 3, 3)),)
    configured = (Conv3d(5, 18, 70, (3, 3, 3)),)
    compiled = (named("conv3d", "cube-512-mask-3"), named("conv3d", "video"))
    wrong = Wrong(
        Conv3d(6, 9, 45, (3, 3, 3), "zero", 2, 2, 1, "batch"),
        # Planes of the mask in reverse; a mask that is not centred; the first channel's weights.
        ("naive", "plane - BEFORE_Z + d", "plane - BEFORE_Z + MASK_DEPTH - 1 - d"),
        ("constant", "column - BEFORE_X + q", "column + q"),
        ("cube", "TAP(TILE_MAP, c, d, p, q)", "TAP(TILE_MAP, 0, d, p, q)"),
        # A halo that is not loaded; one sum of a column for all.
        ("prism", "column - BEFORE_X);", "column);"),
        ("coarsened", "made[k], last", "made[0], last"),
        # Open sums that do not move on; the last plane not stored; the first planes again and
        # again; no ghost planes.
        ("march", "k + 1 < MASK_DEPTH ? made[k + 1]", "k + 1 < MASK_DEPTH ? made[k]"),
        ("march", "+ MASK_DEPTH - 1) * CHANNELS;", "+ MASK_DEPTH - 2) * CHANNELS;"),
        ("march", "first + ahead / CHANNELS", "first + ahead % STAGES / CHANNELS"),
        ("march", "if (z >= 0 && z < DEPTH) {", "if (z >= 0) {"),
    )


examples = settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def problems(draw, masks):
    """Volumes of one element and more, with masks that may be larger than they are."""
    size = draw(st.tuples(st.integers(1, 9), st.integers(1, 20), st.integers(1, 150)))
    mask = draw(st.sampled_from(masks))
    few = draw(st.tuples(*3 * [st.integers(1, 3)]))
    boundary = draw(st.sampled_from(["zero", "valid"]))
    if boundary == "valid":
        size = tuple(max(pair) for pair in zip(size, mask, strict=True))
    return Conv3d(*size, mask, boundary, *few, "batch")


def named_rung(rung):
    return rung.name


@settings(max_examples=30)
@given(problem=problems([(3, 3, 3), (1, 5, 2), (4, 3, 1)]), seed=st.integers(0, 99))
def test_any_problem_on_the_cpu(problem, seed):
    for rung in CPU:
        if rung.why_not(problem) is None:
            verify(problem, rung, seed, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("rung", GPU, ids=named_rung)
@examples
@given(data=st.data())
def test_any_problem_with_any_config_on_a_gpu(rung, opencl_device, data):
    problem = data.draw(problems([(3, 3, 3), (2, 5, 4), (5, 1, 7)]))
    config = {tunable.name: data.draw(st.sampled_from(tunable.values)) for tunable in rung.tunables}
    fits = rung.invalid(problem, config) is None
    verify(
        problem, rung, device=opencl_device, config=config if fits else None, neighbours=False
    ).raise_if_wrong()


@pytest.mark.parametrize(("rung", "mask"), [*((r, (3, 1, 3)) for r in GPU), (GPU[-1], (3, 3, 1))])
def test_flat_masks_of_several_channels_as_drivers_optimise(rung, mask, opencl_device, optimised):
    """Intel's compiler made one index of two where a tap's place was added to its channel's."""
    problem = Conv3d(8, 8, 8, mask, "zero", 1, 2, 1, "batch")
    assert verify(problem, rung, device=opencl_device, neighbours=False).passed


@pytest.mark.parametrize("rung", CPU, ids=named_rung)
def test_the_course_lab_on_the_cpu(rung):
    check_course(rung, cpu.open_device(2))


@pytest.mark.parametrize("rung", GPU, ids=named_rung)
def test_the_course_lab_on_a_gpu(rung, device):
    check_course(rung, device)


def check_course(rung, device):
    for x, mask, expected in cases():
        out = np.empty_like(x)
        rung.bind(Conv3d(*x.shape, (3, 3, 3)), (mask,), device)(x, out)
        # All files are rounded to six decimals.
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-5)


def test_the_number_of_threads_changes_no_bit():
    problem = Conv3d(9, 31, 140, (3, 5, 3))
    x, weights = problem.random(1)
    results = []
    for threads in (1, 2, 3):
        results.append(np.empty(problem.output_size, np.float32))
        bound = strategy("conv3d", "vectors").bind(problem, (weights,), cpu.open_device(threads))
        bound(x, results[-1])
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


@pytest.mark.parametrize("boundary", ["zero", "valid"])
def test_vectors_compute_on_nothing_that_nobody_wrote(boundary):
    problem = Conv3d(3, 9, 45, (3, 3, 4), boundary, 2, 2, 3, "batch")
    x, weights = problem.random(0)
    shape = problem.output_arrays[0].shape[1:]

    def bind():
        return strategy("conv3d", "vectors").bind(problem, (weights,), cpu.open_device(1))

    assert_same_bits(bind, (x, x[:1]), shape)
    assert not computes_on_new_memory(bind, x, shape)


def test_what_a_rung_refuses():
    refusals = {
        "constant": ((26, 26, 26), "constant memory"), "cube": ((9, 1, 1), "no sum is left"),
        "coarsened": ((1, 40, 200), "written out"), "march": ((17, 17, 17), "written out"),
    }  # fmt: skip
    for name, (mask, reason) in refusals.items():
        problem = Conv3d(64, 64, 256, mask)
        with pytest.raises(UnsupportedProblem, match=f"{name}.*{reason}"):
            strategy("conv3d", name, "opencl").check(problem)
        assert strategy("conv3d", "naive", "opencl").why_not(problem) is None
    rung, problem = strategy("conv3d", "march", "opencl"), Conv3d(9, 9, 9, (7, 3, 3))
    assert "open sums" in rung.invalid(problem, rung.config(problem, {"THREAD_ROWS": 4}))


@pytest.mark.parametrize("rung", ladder("conv3d", "cuda"), ids=named_rung)
def test_models_of_accesses(rung):
    """Each output is stored once; tiles are loaded less often than taps read."""
    problem = named("conv3d", "cube-64")
    (model,) = rung.accesses(problem, rung.config(problem)).values()
    assert model.stores == problem.output_arrays[0].size
    reads = problem.flops // 2
    if rung.name in ("naive", "constant"):
        # Of 64 sums in a row all but two meet three elements: the others meet a ghost cell.
        real = reads * (190 / 192) ** 3
        weights = reads if rung.name == "naive" else 0
        assert model.loads == pytest.approx(real + weights)
        assert model.shared_reads == 0
    else:
        assert problem.input_arrays[0].size < model.loads < reads / 5
        assert 0 < model.shared_reads < reads / 16


def test_segments_fill_the_machine():
    """All multiprocessors have a block, and none of them a second one that others wait for."""
    rung = strategy("conv3d", "march", "cuda")
    for mask in (3, 5):
        problem = named("conv3d", f"cube-512-mask-{mask}")
        config = rung.config(problem)
        (step,) = rung.steps(problem, config)
        slots = rung.machine.multiprocessors * config["BLOCKS"]
        assert 0.9 * slots < step.launch.grid[0] <= slots


def test_a_problem_refuses_what_has_no_result():
    for wrong, argument in (
        ({"boundary": "wrap"}, "boundary"),
        ({"mask": (3, 3)}, "mask"),
        ({"depth": 0}, "depth"),
        ({"mask": (9, 1, 1), "boundary": "valid"}, "mask"),
        ({"channels": 2}, "form"),
        ({"form": "image"}, "form"),
    ):
        with pytest.raises(InputError) as caught:
            Conv3d(**{"depth": 5, "height": 5, "width": 5, "mask": (3, 3, 3), **wrong})
        assert caught.value.argument == argument
