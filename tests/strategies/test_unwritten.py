"""No strategy computes on memory that nobody wrote, even where the result is thrown away.

On Intel processors a multiplication of subnormal numbers takes some 150 cycles: lanes
beyond the data, which computed on what malloc had left, made `register_tile` up to 84 times slower.
"""

import numpy as np
import pytest

from rooftile.nn import architecture
from rooftile.nn.cpu_plan import CpuPlan
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.cpu import CpuStrategy
from rooftile.strategies.conv2d.cpu import register_tile
from rooftile.strategies.conv2d.cpu._stage import Staged
from tests.support.unwritten import assert_same_bits, check_new_memory, computes_on_new_memory

from .strategy_cases import CASES

TAKEN = [
    pytest.param(rung, problem, id=f"{operation}-{rung.name}-{number}")
    for operation, problems in CASES.items()
    for rung in ladder(operation)
    for number, problem in enumerate(problems)
    if rung.why_not(problem) is None
]
MODELS = ("lenet5", "mnist8")


@pytest.mark.parametrize(("rung", "problem"), TAKEN)
def test_what_memory_held_changes_no_bit_and_nothing_computes_on_it(rung, problem):
    check_new_memory(rung, problem.with_batch(max(2, problem.batch)))


@pytest.mark.parametrize("padding", [(0, 0), (2, 1)])
def test_transformed_rows_that_end_short_of_their_last_vector(padding):
    problem = Conv2d(2, 2, 13, 25, 3, (7, 7), padding=padding, activation="tanh")
    check_new_memory(strategy("conv2d", "winograd"), problem)


@pytest.mark.parametrize("precision", ["ieee", "fast"])
@pytest.mark.parametrize("model", MODELS)
def test_nor_does_a_plan(model, precision):
    """Its chains use one scratch in turn, and a group of images may be partial."""
    network = architecture(model).initialise(1)
    x = np.random.default_rng(0).standard_normal((9, *network.input_shape), np.float32)

    def bind(batch, threads):
        plan = CpuPlan(network, batch, precision, threads=threads)
        return lambda x, out: plan(x, out=out)

    shape = network.output_shape
    assert_same_bits(lambda: bind(9, 2), (x, x[:1], x[:4]), shape)
    assert not computes_on_new_memory(lambda: bind(4, 1), x[:4], shape)


class Careless(CpuStrategy):
    """`register_tile`, its kernel generated anew."""

    operation = "conv2d"
    name = "careless"
    takes = register_tile.STRATEGY.takes

    def kernel(self, problem):
        return register_tile.tile_kernel(register_tile.choose_tile(problem))


def test_rows_that_are_staged_short_of_their_last_vector_are_caught(monkeypatch):
    problem = Conv2d(2, 1, 6, 19, 2, (3, 3), padding=(1, 1), pool=Pool.of("max", 2))
    check_new_memory(Careless(), problem)
    reach = Staged.reach.fget
    monkeypatch.setattr(Staged, "phase", property(lambda staged: -(-reach(staged) // 16) * 16))
    monkeypatch.setattr(Staged, "reach", Staged.columns)
    with pytest.raises(AssertionError, match="computes on memory that nobody wrote"):
        check_new_memory(Careless(), problem)
