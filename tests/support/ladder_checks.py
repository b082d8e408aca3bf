"""What every GPU rung of conv2d must pass, on whichever device runs it."""

from __future__ import annotations

import functools
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import computing, random_inputs, verify
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import ladder
from rooftile.strategies.binding.compiled import Compiled
from tests.support.hard_inputs import hard, kept_bits, small
from tests.support.storage import stored_by

_ALL = [pytest.param(rung, id=rung.name) for rung in ladder("conv2d", "opencl")]
RUNGS = [one for one in _ALL if "returns" not in one.values[0].requires]
"""The rungs with one output."""
RETURNING = [one for one in _ALL if "returns" in one.values[0].requires]
"""The rungs that return the argmax of their pool too."""

PROBLEMS = (
    Conv2d(1, 1, 1, 1, 1, (1, 1)),
    # Taps so few that a compiler lifts their tests out of the loop over channels.
    Conv2d(1, 2, 3, 1, 1, (3, 1)),
    # A pool that drops the last row; maps and columns off every grid.
    Conv2d(2, 3, 12, 21, 5, (3, 5), activation="relu", pool=Pool.of("max", 2)),
    # Both strides, both paddings, a pool with gaps one way and overlap the other.
    Conv2d(1, 3, 13, 41, 2, (5, 3), (1, 2), (2, 1), "sigmoid", Pool.of("average", (3, 2), (1, 3))),
    # Padding larger than the mask, stride larger than the mask.
    Conv2d(2, 1, 4, 5, 2, (3, 2), (2, 3), (4, 3), "tanh"),
    # A flat mask in wide padding: whole masks lie beside the image.  Maps fill no group, columns no
    # thread.
    Conv2d(3, 4, 30, 27, 3, (1, 6), padding=(3, 2)),
    # A mask larger than the image, over the padding only in part.
    Conv2d(1, 2, 3, 4, 2, (5, 6), (1, 1), (2, 3)),
    # Several tiles each way, a halo across them, more maps than a group.
    Conv2d(1, 2, 21, 75, 35, (3, 3), padding=(1, 1), activation="relu", pool=Pool.of("max", 2)),
    # Enough channels to share out.
    Conv2d(2, 37, 9, 18, 6, (3, 3), padding=(1, 1)),
    Conv2d(1, 4, 24, 24, 16, (7, 7), activation="relu", pool=Pool.of("max", 4)),
    # An activation that falls too: no maximum may be taken before it.
    Conv2d(2, 1, 12, 12, 3, (5, 5), activation="gelu", pool=Pool.of("max", 2)),
)

SPECIAL = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1e-40, -8.0], np.float32)
GUARD = 1024
"""float32 behind the arrays: NaN behind the input, and untouched behind the output."""

# Not shrunk: each example is compiled, so a simpler one would take minutes.
_DRAWN = 12
"""Problems that are drawn until a rung takes one: some take one in ten."""
examples = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[
        HealthCheck.filter_too_much,
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ],
)

_pairs = st.tuples(st.integers(1, 4), st.integers(1, 4))
_pools = st.builds(
    Pool.of, st.sampled_from(["max", "average", "l2"]), _pairs, st.none() | _pairs,
    st.sampled_from(["none", "none", "sigmoid"]),
)  # fmt: skip


def _valid(*arguments):
    """The problem, or None where the shapes do not fit."""
    try:
        return Conv2d(*arguments)
    except InputError:
        return None


_long = st.integers(2, 7)
_masks = (
    st.tuples(st.integers(1, 7), st.integers(1, 7))
    | st.tuples(st.just(1), _long)
    | st.tuples(_long, st.just(1))
)
"""Also flat ones, which the padding may hold as a whole."""

problems = st.builds(
    _valid, st.integers(1, 3), st.integers(1, 5), st.integers(1, 40), st.integers(1, 70),
    st.integers(1, 9), _masks, st.just((1, 1)) | _pairs,
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.sampled_from(["none", "relu", "sigmoid", "tanh"]),
    st.none() | st.just(Pool.of("max", 2)) | _pools,
    st.sampled_from(["zero", "zero", "replicate", "interior"]),
).filter(bool)  # fmt: skip


def taken(problems_of=PROBLEMS):
    """Every rung with every problem that it takes."""
    return [
        pytest.param(rung.values[0], problem, id=f"{rung.id}-{number}")
        for rung in RUNGS
        for number, problem in enumerate(problems_of)
        if rung.values[0].why_not(problem) is None
    ]


def inputs(problem, seed=0, specials=()):
    """Random input and parameters; those that ``specials`` numbers hold special values."""
    arrays = random_inputs(problem, seed)
    generator = np.random.default_rng(seed)
    # The average of saturated infinities is finite, and the budget cannot know its terms.
    saturates = isinstance(problem, Conv2d) and (
        problem.activation in ("sigmoid", "tanh") and problem.pool
    )
    values = SPECIAL[2:] if saturates else SPECIAL
    for index in specials:
        flat = arrays[index].reshape(-1)
        where = generator.integers(0, flat.size, 1 + flat.size // 40)
        flat[where] = generator.choice(values, where.size)
    return arrays


@functools.lru_cache(256)
def expected_of(problem, seed, specials):
    """`inputs` with what is expected of them: one reference for all rungs."""
    arrays = inputs(problem, seed, specials)
    return arrays, Expected(problem, *arrays)


def run(bound, x):
    """The result of a launch on poisoned and guarded device memory."""
    device, shape = bound.device, (len(x), *bound.problem.output_shape[1:])
    poison = np.full(GUARD, np.nan, np.float32)
    out = np.full(int(np.prod(shape)) + GUARD, np.nan, np.float32)
    given = device.upload(np.concatenate([x.reshape(-1), poison]))
    result = device.upload(out)
    bound.launch((given, result), len(x))
    device.copy_out(result, out)
    assert np.isnan(out[-GUARD:]).all(), "it wrote behind its output"
    return out[:-GUARD].reshape(shape)


def check(rung, problem, device, *, seed=0, specials=(), config=None):
    """Right within the budget, twice the same bits, nothing written outside."""
    arrays, expected = expected_of(problem, seed, specials)
    x, *parameters = (array.copy() for array in arrays)
    bound = rung.bind(problem, parameters, device, config)
    outs = [run(bound, x) for _ in range(2)]
    verdict = expected.judge(outs[0], rung.precision)
    assert verdict.passed, (problem, bound.config, specials, verdict)
    for a, b in pairwise(outs):
        assert rung.atomic or np.array_equal(a.view(np.uint32), b.view(np.uint32)), "runs differ"


def check_hard(rung, problem, kind, device, seed):
    """The error of its precision, of a sum without bias, of inputs that a split finds hard."""
    x, *parameters = hard(kind, problem, seed, problem.channels)
    bound = rung.bind(problem, parameters, device)
    verdict = Expected(problem, x, *parameters).judge(run(bound, x), rung.precision)
    assert verdict.passed, verdict


def check_small(rung, kind, pool, device):
    """float32's error of numbers that are far below the largest."""
    problem, x, *parameters = small(kind, pool)
    out = run(rung.bind(problem, parameters, device), x)
    assert kept_bits(problem, out, x, *parameters)


def check_wrong(rung, problem, device):
    """As `check`, of a rung that one of these inputs ought to give away."""
    for seed in range(3):
        for specials in ((), (0,), (1,)):
            check(rung, problem, device, seed=seed, specials=specials)


def draw_config(rung, problem, draw):
    """Tunables away from their defaults, as far as the rung can run them."""
    config = rung.config(problem)
    for tunable in rung.tunables:
        candidate = {**config, tunable.name: draw(st.sampled_from(tunable.values))}
        if rung.invalid(problem, candidate) is None:
            config = candidate
    return config


def check_any(rung, device, data):
    """A drawn problem that the rung takes, with a drawn config."""
    drawn = (data.draw(problems) for _ in range(_DRAWN))
    problem = next((one for one in drawn if rung.why_not(one) is None), None)
    assume(problem is not None)
    # A pool may drop an infinity, and the budget cannot know what was summed beside it.
    choices = [(), (0,), (0, 1, 2)] if problem.pool is None else [()]
    specials = data.draw(st.sampled_from(choices))
    config = draw_config(rung, problem, data.draw)
    check(rung, problem, device, seed=data.draw(st.integers(0, 99)), specials=specials,
          config=config)  # fmt: skip


def check_partial_batch(rung, device):
    """A bound strategy takes any number of images up to its batch, in any order of sizes."""
    problem = Conv2d(5, 2, 11, 20, 3, (3, 3), activation="relu", pool=Pool.of("max", 2))
    x, *parameters = inputs(problem)
    bound = rung.bind(problem, parameters, device)
    for images in (5, 1, 3):
        verdict = Expected(problem, x[:images], *parameters).judge(
            run(bound, x[:images]), rung.precision
        )
        assert verdict.passed, verdict


@functools.cache
def _images_beyond(blocks):
    """More images than a grid has blocks in z, with what is expected of any rung."""
    problem = Conv2d(blocks + 7, 1, 3, 3, 2, (3, 3), activation="relu")
    arrays = inputs(problem)
    return problem, arrays, Expected(problem, *arrays)


def _few_blocks(device, monkeypatch):
    """The blocks of a grid in z.

    A CPU takes long for as many as no GPU's grid holds: it is given grids of fewer blocks.
    """
    if device.description.gpu:
        return 65535
    blocks, steps = 100, Compiled.steps

    def fewer(compiled, batch):
        for call in steps(compiled, batch):
            x, y, z = call.launch.grid
            launch = replace(call.launch, grid=(x, min(y, blocks), min(z, blocks)))
            yield replace(call, launch=launch)

    monkeypatch.setattr(Compiled, "steps", lambda *given: list(fewer(*given)))
    return blocks


def check_many_images(rung, device, monkeypatch):
    """Indices of images that no axis of a grid holds."""
    problem, (x, *parameters), expected = _images_beyond(_few_blocks(device, monkeypatch))
    out = run(rung.bind(problem, parameters, device), x)
    verdict = expected.judge(out, rung.precision)
    assert verdict.passed, verdict


def returning(rung, problem):
    """The problem with its argmax as the rung returns it; None where the rung does not take it."""
    if problem.pool is None or problem.pool.kind != "max":
        return None
    try:
        asked = stored_by(rung, problem, None)[0]
    except InputError:
        return None
    return asked if rung.why_not(asked) is None else None


def check_returning(rung, problem, device, config=None, seed=0):
    """Both outputs are right, twice the same bits, with nothing written behind them."""
    verdict = verify(problem, rung, seed, device=device, config=config, neighbours=False)
    assert verdict.passed, (problem, config, verdict)


def check_any_returning(rung, device, data):
    """`check_any`, of a rung with two outputs."""
    drawn = (returning(rung, data.draw(problems)) for _ in range(_DRAWN))
    problem = next(filter(None, drawn), None)
    assume(problem is not None)
    config = draw_config(rung, problem, data.draw)
    check_returning(rung, problem, device, config, data.draw(st.integers(0, 99)))


def check_partial_returning(rung, device):
    """Both outputs of fewer images are the first of those of all, which are right."""
    problem = returning(rung, replace(PROBLEMS[-1], batch=5, activation="relu"))
    check_returning(rung, problem, device)
    x, *parameters = inputs(problem)
    compute = computing(rung.bind(problem, parameters, device))

    def outputs(images):
        made = [np.zeros((images, *one.shape[1:]), one.numpy) for one in problem.output_arrays]
        compute(x[:images], *made)
        return made

    whole = outputs(5)
    for images in (1, 3):
        for part, all_of_it in zip(outputs(images), whole, strict=True):
            np.testing.assert_array_equal(part, all_of_it[:images])


def check_many_returning(rung, device, monkeypatch):
    """`check_many_images`, of a rung with two outputs."""
    images = _few_blocks(device, monkeypatch) + 7
    pooled = Conv2d(images, 1, 4, 4, 2, (3, 3), activation="relu", pool=Pool.of("max", 2))
    check_returning(rung, returning(rung, pooled), device)


def check_refusal(rung, problem, device):
    """A refusal is an error with its reason."""
    with pytest.raises(UnsupportedProblem, match=rung.name) as caught:
        check(rung, problem, device)
    assert rung.why_not(problem) in str(caught.value)
