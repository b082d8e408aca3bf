"""Strategies take the features that they name; every other one is refused with a sentence."""

import dataclasses

import pytest

from rooftile.ops import Conv2d, registry
from rooftile.ops.features import SIZE, described_features, features, taken
from rooftile.ops.layers.pooling import Pool
from rooftile.ops.named import default_shape, named
from rooftile.ops.operator import Operator
from rooftile.strategies import CpuStrategy, ladder, strategy

OPERATIONS = sorted(registry.operations())


@dataclasses.dataclass(frozen=True)
class Plain:
    size: int
    stride: tuple[int, int] = (1, 1)
    activation: str = "none"
    pool: Pool | None = None
    channels: int = dataclasses.field(default=1, metadata=SIZE)


def test_a_feature_is_a_field_that_differs_from_its_default():
    assert described_features(Plain(7, channels=3)) == {}
    found = described_features(Plain(7, (2, 1), "relu", Pool.of("max", 2, activation="tanh")))
    assert found == {
        "stride": "stride=(2, 1)",
        "activation:relu": "activation='relu'",
        "pool:max": "pool='max'",
        "pool.activation:tanh": "pool.activation='tanh'",
    }


def test_features_are_named_alone_or_by_family():
    takes = features("stride pool:max,l2 dtype:*")
    assert takes == {"stride", "pool:max", "pool:l2", "dtype:*"}
    assert all(taken(one, takes) for one in ("stride", "pool:max", "dtype:int8"))
    assert not any(taken(one, takes) for one in ("padding", "pool:average", "dtype", "pool.stride"))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_invented_feature_is_refused_by_every_rung(operation):
    problem = named(operation, default_shape(operation))

    class Twisted(type(problem)):
        def described_features(self):
            return {**super().described_features(), "twist": "twist=(2, 2)"}

    values = {one.name: getattr(problem, one.name) for one in dataclasses.fields(problem)}
    twisted = Twisted(**values)
    for kind in ("cpu", "cuda", "opencl"):
        for rung in ladder(operation, kind):
            reason = rung.why_not(twisted)
            assert reason is not None
            assert rung.why_not(problem) is not None or "twist=(2, 2)" in reason


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_field_with_a_default_is_a_feature_or_a_size(operation):
    """A rung that takes a feature takes one that the operation has: no name is misspelt."""
    families = {
        name
        for field in dataclasses.fields(registry.operation(operation).problem)
        for name in (field.name, f"{field.name}.activation")
    } | {"operator.associative", "operator.commutative"}
    for kind in ("cpu", "cuda"):
        for rung in ladder(operation, kind):
            assert {one.partition(":")[0] for one in rung.takes} <= families, rung.name


def test_a_boundary_that_is_not_met_is_no_feature():
    inside = Conv2d(1, 1, 9, 9, 1, (3, 3), boundary="replicate")
    assert "boundary:replicate" not in inside.described_features()
    met = dataclasses.replace(inside, padding=(1, 1))
    assert "boundary='replicate'" in strategy("conv2d", "im2col").why_not(met)


def test_an_operator_of_the_callers_is_a_feature():
    found = described_features(
        dataclasses.replace(
            named("reduce", default_shape("reduce")),
            operator=Operator("a - b", 0, associative=False),
        )
    )
    assert {"operator:custom", "operator.associative"} <= set(found)


def test_a_rung_cannot_take_a_problem_by_itself():
    with pytest.raises(TypeError, match="define limits"):

        class Own(CpuStrategy):
            def why_not(self, problem):
                return None
