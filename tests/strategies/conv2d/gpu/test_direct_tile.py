"""What a thread and a block of `direct_tile` own, where images are few and where they are many."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.ops import Conv2d, Pool, named
from rooftile.strategies import strategy
from rooftile.strategies.conv2d.gpu.direct_tile import _tile

RUNG = strategy("conv2d", "direct_tile", "cuda")
FEW = [
    Conv2d(1, 1, 28, 28, 8, (5, 5), activation="relu", pool=Pool.of("max", 2)),
    Conv2d(1, 1, 28, 28, 8, (5, 5), padding=(2, 2), activation="relu"),
    named("conv2d", "lenet-conv1", 1),
    named("conv2d", "lenet-conv2", 1),
]


def blocks_of(problem, config):
    across, down, _ = RUNG.steps(problem, config)[0].launch.grid
    return across * down


@pytest.mark.parametrize("problem", FEW)
def test_few_images_are_spread_over_more_multiprocessors(problem):
    most, large = RUNG.machine.multiprocessors, RUNG.large(problem)
    config = RUNG.defaults(problem)
    assert config["THREAD_MAPS"] == 1 < large["THREAD_MAPS"]
    assert blocks_of(problem, large) < blocks_of(problem, config) <= most


@pytest.mark.parametrize("name", ["lenet-conv1", "lenet-conv2"])
def test_many_images_keep_large_threads(name):
    problem = named("conv2d", name, 1000)
    assert RUNG.defaults(problem) == RUNG.large(problem)


@settings(max_examples=60)
@given(
    batch=st.integers(1, 300), channels=st.integers(1, 5), maps=st.integers(1, 40),
    size=st.tuples(*[st.integers(8, 60)] * 2), mask=st.tuples(*[st.integers(1, 6)] * 2),
    pool=st.integers(1, 2),
)  # fmt: skip
def test_smaller_blocks_are_valid_and_never_more_than_multiprocessors(
    batch, channels, maps, size, mask, pool
):
    problem = Conv2d(
        batch, channels, *size, maps, mask, pool=Pool.of("max", pool) if pool > 1 else None
    )
    large, config = RUNG.large(problem), RUNG.defaults(problem)
    if RUNG.invalid(problem, large) is None:
        assert RUNG.invalid(problem, config) is None
    if config != large:
        assert blocks_of(problem, config) <= RUNG.machine.multiprocessors
        assert _tile.threads(problem, config) >= 32
