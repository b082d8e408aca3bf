"""Every rung of `stencil`: right for every stencil, any number of steps and both boundaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.verify import verify
from rooftile.ops import named
from rooftile.ops.patterns.stencil import Stencil, offsets_of
from rooftile.strategies import ladder, strategy
from rooftile.strategies.binding.packing import places_of
from tests.support.every_rung import EveryRung, Wrong, on
from tests.support.unwritten import assert_same_bits, computes_on_new_memory

CPU, GPU = ladder("stencil"), ladder("stencil", "opencl")
STENCILS = ((2, 5), (2, 9), (3, 7), (3, 13), (3, 25), (3, 27))
PROBLEMS = (
    Stencil((1, 1), 5),
    Stencil((1, 1, 1), 25, 2),
    Stencil((37, 140), 9, 5),
    Stencil((4, 20, 136), 7, 8),
    Stencil((11, 10, 61), 7, 3, "valid"),
    Stencil((5, 18, 21), 25),
    Stencil((4, 9, 33), 27, 2),
)


class TestRungs(EveryRung):
    problems = PROBLEMS
    near = (Stencil((8, 8, 32), 7, 2),)
    configured = (Stencil((5, 12, 50), 7, 5),)
    compiled = tuple(
        named("stencil", name)
        for name in ("star-7-steps-8", "box-9-steps-8", "star-13", "star-25", "box-27")
    )
    wrong = Wrong(
        Stencil((7, 70, 45), 7, 3),
        # A star without arms; one sum of a column for all; open sums that do not move on.
        ("tile", "(q) == BEFORE_X) >= 2)", "(q) == BEFORE_X) >= 3)"),
        ("coarsened", "made[k], last", "made[0], last"),
        ("march", "DEPTH ? made[k + 1]", "DEPTH ? made[k]"),
        # No ghost cells between steps; a rim that is too small; one step fewer.
        ("several_steps", "mine[y][n] = 0.0f;", ";"),
        ("several_steps", "RIM_Y (LEVELS * BEFORE_Y)", "RIM_Y BEFORE_Y"),
        ("several_steps", "if (t < levels)", "if (t < levels - (levels > 1))"),
        # No ghost cells above a barrier; sums of another plane; planes that do not take turns.
        ("one_barrier", "mine[y][n] = 0.0f;", ";"),
        ("one_barrier", "MIDDLE (BEFORE_Z - 1)", "MIDDLE BEFORE_Z"),
        ("one_barrier", "turn * LEVELS * HELD_SIZE", "0"),
        # Neighbours of the thread itself.
        ("several_steps", "column / THREAD_COLUMNS - MORE_X", "0"),
    )


examples = settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def problems(draw, steps=4, stencils=STENCILS):
    """Grids of one cell and more."""
    rank, points = draw(st.sampled_from(stencils))
    size = draw(st.tuples(st.integers(1, 9), st.integers(1, 20), st.integers(1, 150)))
    steps, boundary = draw(st.integers(1, steps)), draw(st.sampled_from(["zero", "valid"]))
    reach = max(max(offset) for offset in offsets_of(rank, points))
    lost = 2 * reach * steps if boundary == "valid" else 0
    return Stencil(tuple(n + lost for n in size[-rank:]), points, steps, boundary)


def named_rung(rung):
    return rung.name


@settings(max_examples=30)
@given(problem=problems(), seed=st.integers(0, 99))
def test_any_problem_on_the_cpu(problem, seed):
    for rung in CPU:
        verify(problem, rung, seed, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("rung", GPU, ids=named_rung)
@examples
@given(data=st.data())
def test_any_problem_with_any_config_on_a_gpu(rung, opencl_device, data):
    # Sums of 25 and more points take OpenCL's compiler seconds where a config unrolls them.
    some = problems(stencils=STENCILS[:4]).filter(lambda one: rung.why_not(one) is None)
    problem = data.draw(some)
    config = {tunable.name: data.draw(st.sampled_from(tunable.values)) for tunable in rung.tunables}
    fits = on(rung, opencl_device).invalid(problem, config) is None
    verify(
        problem, rung, device=opencl_device, config=config if fits else None, neighbours=False
    ).raise_if_wrong()


@pytest.mark.parametrize("name", ["several_steps", "one_barrier"])
@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_steps_that_launches_share_out(name, levels, opencl_device):
    """Odd numbers of steps a launch, and a last launch with fewer."""
    rung = strategy("stencil", name, "opencl")
    problem = Stencil((5, 12, 50), 7, 5)
    config = {"LEVELS": levels, "THREADS_Y": 8}
    verify(problem, rung, device=opencl_device, config=config, neighbours=False).raise_if_wrong()
    steps = rung.steps(problem, rung.config(problem, config))
    assert sum(step.arguments[-1] for step in steps) == problem.steps
    assert [step.arguments[2] for step in steps] == [0] * (len(steps) - 1) + [1]


@pytest.mark.parametrize("problem", [Stencil((3, 9, 45), 7, 3), Stencil((13, 530), 9)], ids=str)
def test_vectors_compute_on_nothing_that_nobody_wrote(problem):
    x, coefficients = problem.random(0)

    def bind():
        return strategy("stencil", "vectors").bind(problem, (coefficients,), cpu.open_device(1))

    assert_same_bits(bind, (x,), problem.output_shape[1:])
    assert not computes_on_new_memory(bind, x, problem.output_shape[1:])


def test_coefficients_on_a_gpu_come_to_constant_memory_by_their_places(opencl_device):
    """A star's box has zeros between its points, which no coefficient is moved to."""
    rung, problem = strategy("stencil", "march", "opencl"), Stencil((4, 5, 6), 7)
    found = places_of(rung, problem, rung.config(problem))["box"]
    box = found.places.reshape(3, 3, 3)
    points = [tuple(1 + step for step in offset) for offset in offsets_of(3, 7)]
    assert [box[point] for point in points] == list(range(7))
    assert (box == -1).sum() == 20


def test_coefficients_in_another_order_are_caught(opencl_device):
    class Reversed(type(strategy("stencil", "naive", "opencl"))):
        def macros(self, problem, config):
            macros = super().macros(problem, config)
            points = (
                macros["EACH_POINT(use)"].replace("use(0,", "use(@,").replace("use(6,", "use(0,")
            )
            return {**macros, "EACH_POINT(use)": points.replace("use(@,", "use(6,")}

    wrong = Reversed()
    wrong.text = strategy("stencil", "naive", "opencl").whole_text
    assert not verify(Stencil((5, 6, 7), 7), wrong, device=opencl_device, neighbours=False).passed


@pytest.mark.parametrize("rung", ladder("stencil", "cuda"), ids=named_rung)
def test_models_of_accesses(rung):
    """A launch stores a grid, and steps that share a launch store one grid together."""
    problem = Stencil((64, 64, 64), 7, 4)
    config = rung.config(problem)
    (model,) = rung.accesses(problem, config).values()
    launches = len(rung.steps(problem, config))
    together = ("several_steps", "one_barrier", "neighbours")
    assert launches == (1 if rung.name in together else 4)
    assert model.stores == launches * 64**3
    assert model.loads > launches * 64**3
    assert (model.shared_reads == 0) == (rung.name == "naive")


def test_coefficients_come_in_the_order_of_memory():
    for rank, points in STENCILS:
        offsets = offsets_of(rank, points)
        assert len(offsets) == points
        strides = [100**axis for axis in reversed(range(rank))]
        places = [np.dot(offset, strides) for offset in offsets]
        assert places == sorted(places)
        assert offsets[points // 2] == (0,) * rank


def test_two_steps_are_a_step_after_a_step():
    problem = Stencil((4, 6, 9), 13)
    x, coefficients = problem.random(3)
    twice = Stencil((4, 6, 9), 13, 2).reference(x, coefficients)
    assert np.allclose(twice, problem.reference(problem.reference(x, coefficients), coefficients))
    inner = Stencil((12, 13, 14), 13, 2, "valid")
    x, coefficients = inner.random(4)
    whole = Stencil((12, 13, 14), 13, 2).reference(x, coefficients)
    assert np.allclose(inner.reference(x, coefficients), whole[4:-4, 4:-4, 4:-4])


def test_a_problem_refuses_what_has_no_result():
    for wrong, argument in (
        ({"points": 8}, "coefficients"),
        ({"shape": (5, 5)}, "coefficients"),
        ({"shape": (5,)}, "x"),
        ({"shape": (5, 0, 5)}, "axis 1 of x"),
        ({"steps": 0}, "steps"),
        ({"boundary": "wrap"}, "boundary"),
        ({"steps": 3, "boundary": "valid"}, "x"),
    ):
        with pytest.raises(InputError) as caught:
            Stencil(**{"shape": (5, 5, 5), "points": 7, **wrong})
        assert caught.value.argument == argument
