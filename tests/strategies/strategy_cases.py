"""Problems and inputs that strategies are known to trip over, and the check of one run."""

from __future__ import annotations

import functools
from typing import get_args

import numpy as np
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Conv2d, FusedActivation, Linear, Pool, Pool2d, Softmax
from rooftile.strategies import ladder

SPECIAL = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1e-40, -8.0], np.float32)
"""The largest finite one stays within what a transform in double precision can take."""

CONV2D = (
    Conv2d(1, 1, 1, 1, 1, (1, 1)),
    Conv2d(2, 1, 9, 1, 1, (9, 1), activation="relu"),
    Conv2d(3, 2, 7, 19, 3, (3, 3), padding=(1, 1), activation="relu"),
    # Width on the vector grid, maps and channels off it, a pool that drops the last rows.
    Conv2d(2, 3, 11, 20, 5, (3, 5), activation="relu", pool=Pool.of("max", 2)),
    Conv2d(2, 1, 24, 86, 4, (7, 7), activation="relu", pool=Pool.of("max", 2)),
    Conv2d(1, 4, 16, 24, 9, (7, 7), activation="relu", pool=Pool.of("max", 4)),
    # Overlapping windows; gaps between windows; both, one way each.
    Conv2d(2, 2, 12, 17, 3, (3, 3), activation="tanh", pool=Pool.of("max", 3, 2)),
    Conv2d(1, 2, 14, 23, 2, (2, 4), pool=Pool.of("average", 2, 3)),
    Conv2d(1, 3, 13, 41, 2, (5, 3), (1, 2), (2, 1), "sigmoid", Pool.of("average", (3, 2), (1, 3))),
    # Strides larger than the mask, different each way; padding larger than the mask.
    Conv2d(2, 2, 15, 40, 2, (2, 3), (3, 4)),
    Conv2d(1, 1, 4, 5, 2, (3, 2), (2, 1), (4, 3), "relu"),
    # A mask larger than the image, over the padding only in part.
    Conv2d(1, 2, 3, 4, 2, (5, 6), (1, 1), (2, 3)),
    Conv2d(1, 1, 40, 50, 2, (17, 19), activation="relu", pool=Pool.of("average", 2)),
    # Enough taps to block the reduction.
    Conv2d(1, 37, 9, 18, 17, (3, 3), padding=(1, 1), activation="relu", pool=Pool.of("max", 2)),
    # An activation that falls too: no maximum may be taken before it.
    Conv2d(2, 3, 11, 20, 5, (3, 3), padding=(1, 1), activation="gelu", pool=Pool.of("max", 2)),
    Conv2d(1, 2, 9, 21, 3, (1, 1), activation="gelu", pool=Pool.of("average", 2, None, "gelu")),
    # A single tap, with an end of everything.
    Conv2d(3, 19, 7, 11, 9, (1, 1), activation="relu"),
)

LINEAR = (
    Linear(1, 1, 1),
    Linear(1, 17, 33, "relu"),
    Linear(3, 1024, 32, "relu"),
    Linear(19, 31, 10, "tanh"),
    Linear(130, 257, 47, "sigmoid"),
    Linear(19, 33, 17, "gelu"),
)

POOL2D = (
    Pool2d(1, 1, 1, 1, Pool.of("max", 1)),
    Pool2d(2, 3, 9, 35, Pool.of("max", 2)),
    Pool2d(2, 3, 9, 35, Pool.of("average", 2)),
    Pool2d(1, 2, 11, 21, Pool.of("max", 3, 2)),
    Pool2d(1, 2, 11, 43, Pool.of("average", (2, 4), (3, 5))),
    Pool2d(3, 1, 8, 40, Pool.of("max", (8, 33), 1, "gelu")),
    Pool2d(2, 3, 9, 36, Pool.of("l2", (2, 3), (1, 2))),
    Pool2d(2, 3, 9, 36, Pool.of("weighted", 3, 2, "tanh"), bias=True),
)

SOFTMAX = (Softmax(1, 1), Softmax(5, 10), Softmax(3, 1000))

CASES = {"conv2d": CONV2D, "linear": LINEAR, "pool2d": POOL2D, "softmax": SOFTMAX}
USUAL = {"conv2d": 4, "linear": 3, "pool2d": 1, "softmax": 1}
"""One case of each operation, which nearly every strategy of the ladder takes."""


def float32(operation):
    """The rungs of a CPU's ladder that take float32: `double` is judged by `EveryRung`."""
    return [rung for rung in ladder(operation) if rung.name != "double"]


def usual_case(rung):
    """That of its operation, or the last one that the rung takes."""
    cases = CASES[rung.operation]
    return next(
        problem
        for problem in (cases[USUAL[rung.operation]], *reversed(cases))
        if rung.why_not(problem) is None
    )


sizes = st.integers(1, 6)
pairs = st.tuples(st.integers(1, 4), st.integers(1, 4))
behind = st.sampled_from(["none", "none", "sigmoid", "gelu"])
"""The activation behind a pool."""


def pools_of(*kinds):
    return st.builds(Pool.of, st.sampled_from(kinds), pairs, st.none() | pairs, behind)


pools = pools_of("max", "average", "l2")
# Those of transforms, which a draw of two numbers would seldom meet, as often as any others.
masks = st.sampled_from([(3, 3), (5, 5), (7, 7)]) | st.tuples(st.integers(1, 7), st.integers(1, 7))
activations = st.sampled_from(get_args(FusedActivation))


def _valid(kind, *arguments):
    """The problem, or None where the shapes do not fit."""
    try:
        return kind(*arguments)
    except InputError:
        return None


conv2d_problems = st.builds(
    _valid, st.just(Conv2d), st.integers(1, 4), sizes, st.integers(1, 24), st.integers(1, 40),
    sizes, masks, st.just((1, 1)) | pairs,
    st.tuples(st.integers(0, 4), st.integers(0, 4)), activations,
    st.none() | st.just(Pool.of("max", 2)) | pools,
    st.sampled_from(["zero", "zero", "replicate", "interior"]),
).filter(bool)  # fmt: skip
linear_problems = st.builds(
    Linear, st.integers(1, 20), st.integers(1, 70), st.integers(1, 40), activations
)
pool2d_problems = st.builds(
    _valid, st.just(Pool2d), sizes, sizes, st.integers(1, 20), st.integers(1, 40),
    pools_of("max", "average", "l2", "weighted"), st.booleans(),
).filter(bool)  # fmt: skip
softmax_problems = st.builds(Softmax, st.integers(1, 9), st.integers(1, 70))


@st.composite
def winograd_problems(draw):
    """What `winograd` takes, which a tenth of all problems are: masks that it has transforms
    of, four rows at least, pools that tile four rows and columns."""
    mask = draw(st.sampled_from([(3, 3), (5, 5)]) | st.tuples(st.just(7), st.integers(1, 7)))
    kind = draw(st.sampled_from([None, "max", "average"]))
    window = draw(st.tuples(*[st.sampled_from([1, 2, 4])] * 2))
    return Conv2d(
        draw(st.integers(1, 4)), draw(sizes), draw(st.integers(mask[0] + 3, 24)),
        draw(st.integers(mask[1] + 3, 40)), draw(sizes), mask,
        padding=draw(st.tuples(st.integers(0, 4), st.integers(0, 4))),
        activation=draw(st.sampled_from(["none", "relu"]) if kind == "average" else activations),
        pool=kind and Pool.of(kind, window),
    )  # fmt: skip


pointwise_problems = st.builds(
    Conv2d, st.integers(1, 4), st.integers(1, 40), st.integers(1, 12), st.integers(1, 24),
    st.integers(1, 60), st.just((1, 1)), activation=activations,
)  # fmt: skip
PROBLEMS = {
    "conv2d": conv2d_problems, "linear": linear_problems, "pool2d": pool2d_problems,
    "softmax": softmax_problems,
}  # fmt: skip


def problems_of(rung):
    """Any problems for a rung of the CPU, of which it takes enough."""
    own = {"winograd": winograd_problems(), "pointwise": pointwise_problems}
    return own.get(rung.name, PROBLEMS[rung.operation])


def inputs(problem, seed, specials):
    """Random input and parameters; ``specials`` says which of them hold special values."""
    arrays = random_inputs(problem, seed)
    generator = np.random.default_rng(seed)
    special = SPECIAL
    if problem.operation == "conv2d" and problem.activation in ("sigmoid", "tanh") and problem.pool:
        # The average of saturated infinities is finite, and the budget cannot know its terms.
        special = SPECIAL[2:]
    for index, array in enumerate(arrays):
        if index in specials:
            flat = array.reshape(-1)
            where = generator.integers(0, flat.size, 1 + flat.size // 40)
            flat[where] = generator.choice(special, where.size)
    return arrays


@functools.lru_cache(256)
def expected_of(problem, seed, specials):
    """`inputs` with what is expected of them: one reference for all rungs."""
    arrays = inputs(problem, seed, specials)
    return arrays, Expected(problem, *arrays)


def check(rung, problem, seed=0, specials=(), threads=1):
    """Bind and run a strategy on random inputs; raise unless it is within its budget."""
    arrays, expected = expected_of(problem, seed, specials)
    x, *parameters = (array.copy() for array in arrays)
    out = np.full(problem.output_shape, np.nan, np.float32)
    rung.bind(problem, parameters, cpu.open_device(threads))(x, out)
    verdict = expected.judge(out, rung.precision)
    assert verdict.passed, (rung.name, problem, seed, specials, verdict)
