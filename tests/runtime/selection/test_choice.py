"""Who picks the strategy, and whether the pick can be explained."""

from importlib import import_module
from types import SimpleNamespace
from typing import ClassVar

import pytest

from rooftile.devices import select
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.ops import Chain, Conv2d, Linear, Pool, Pool2d, Softmax, named, operations
from rooftile.runtime.selection import choice as dispatch
from rooftile.runtime.selection import tuned
from rooftile.strategies import Strategy, ladder, preference
from rooftile.strategies.contract.costs import Costs

PROBLEMS = [
    named("conv2d", "lenet-conv1", 2), named("conv2d", "lab-conv5"),
    named("linear", "lenet-linear1"), named("pool2d", "lenet-pool1"),
    named("softmax", "classes-10"),
]  # fmt: skip


@pytest.mark.parametrize("precision", ["ieee", "fast"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.operation)
def test_the_pick_takes_the_problem_at_the_precision(problem, precision):
    rung = dispatch.choose(problem, precision)
    assert rung.operation == problem.operation
    assert rung.why_not(problem) is None
    assert rung.precision in ("ieee", precision)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.operation)
def test_every_strategy_is_explained_and_one_is_taken(problem):
    for precision in ("ieee", "fast"):
        considered = dispatch.explain_choice(problem, precision)
        assert {c.strategy for c in considered} == {r.name for r in ladder(problem.operation)}
        assert all(c.reason for c in considered)
        taken = [c.strategy for c in considered if c.taken]
        assert taken == [dispatch.choose(problem, precision).name]


ON_CPUS_ALONE = {
    "conv2d_input_gradient", "conv2d_weights_gradient", "pool2d_gradient", "pool2d_winners",
}  # fmt: skip
"""Those of training, which runs on CPUs."""


def test_every_operation_ends_with_what_takes_all():
    last = {
        "naive", "row_threads", "sequential", "strided", "merge", "three_launches", "block_rows",
        "compare_and_swap", "one_block", "vectors",
    }  # fmt: skip
    # Each of its formats has rungs of its own: tests/strategies/spmv asks for every one.
    for operation in {*operations()} - {"spmv"}:
        assert preference(operation, "cpu")[-1].name == "loops"
        if operation not in ON_CPUS_ALONE:
            assert preference(operation, "opencl")[-1].name in last


def test_every_preference_exists():
    for operation in (*operations(), "network"):
        table = import_module(f"rooftile.strategies.{operation}.ladder").PREFERENCE
        for kind, names in table.items():
            rungs = ladder(operation, "cuda" if kind == "gpu" else kind)
            assert set(names) <= {rung.name for rung in rungs}
            assert len(set(names)) == len(names)


def test_transforms_pay_for_large_masks_only():
    small = Conv2d(1, 8, 256, 256, 8, (5, 5))
    large = Conv2d(1, 8, 256, 256, 8, (41, 41))
    assert dispatch.choose(small).name != "fft"
    assert dispatch.choose(large).name == "fft"
    reasons = {c.strategy: c.reason for c in dispatch.explain_choice(small)}
    assert reasons["fft"].startswith("estimated at ")


def test_winograd_is_fast_where_tiles_are_shared_and_never_ieee():
    for shape in ("lenet-conv1", "lab-conv5"):
        assert dispatch.choose(named("conv2d", shape, 1), "fast").name == "winograd"
    for shape in ("mnist-conv", "stride-1"):
        problem = named("conv2d", shape, 1)
        assert dispatch.choose(problem, "fast") is dispatch.choose(problem, "ieee")
    assert dispatch.choose(named("conv2d", "lenet-conv1", 1), "ieee").name == "register_tile"


def convolution(maps, size, mask, batch=1):
    return Conv2d(batch, maps, size, size, maps, (mask, mask), padding=(mask // 2, mask // 2))


SLOWER = [(512, 7, 3), (512, 14, 3), (256, 6, 3), (8, 6, 3), (512, 7, 5), (256, 6, 5), (8, 7, 5)]
"""Maps, size and mask of images of which `winograd` was measured to take longer on a Zen 3: up to
twice as long as the choice at `ieee`."""


@pytest.mark.parametrize(("maps", "size", "mask"), SLOWER)
def test_fast_is_what_ieee_chooses_where_transforms_are_slower(maps, size, mask):
    for batch in (1, 8):
        problem = convolution(maps, size, mask, batch)
        assert dispatch.choose(problem, "fast") is dispatch.choose(problem, "ieee")


SHARED_RARELY = [(339, 5, (61, 14), 7), (6, 2, (13, 13), 7), (110, 5, (42, 14), 7)]
"""Channels, maps, image and mask: few maps share the transform of the inputs."""
SUMMED_SHORTLY = [(10, 68, (52, 52), 3)]
"""Few channels share the transform of the outputs."""


@pytest.mark.parametrize(("channels", "maps", "size", "mask"), SHARED_RARELY + SUMMED_SHORTLY)
def test_fast_counts_both_transforms(channels, maps, size, mask):
    """Of images that were drawn at random these took 1.0 to 1.05 times the choice at `ieee`."""
    problem = Conv2d(1, channels, *size, maps, (mask, mask))
    assert dispatch.choose(problem, "fast") is dispatch.choose(problem, "ieee")


@pytest.mark.parametrize(("maps", "size", "mask"), [(64, 56, 3), (64, 28, 5), (16, 56, 7)])
def test_fast_transforms_where_that_was_measured_to_pay(maps, size, mask):
    assert dispatch.choose(convolution(maps, size, mask, 16), "fast").name == "winograd"


def test_a_single_call_counts_the_transform_of_its_weights():
    few, many = convolution(128, 28, 3, batch=2), convolution(128, 28, 3, batch=2048)
    for problem, once in ((few, "ieee"), (many, "fast")):
        assert dispatch.choose(problem, "fast").name == "winograd"
        chosen = dispatch.decide(problem, "fast", once=True).strategy
        assert chosen is dispatch.choose(problem, once)
    assert dispatch.decide(few, "fast", strategy="winograd", once=True).strategy.name == "winograd"


def test_a_strategy_that_refuses_is_passed_over_with_its_reason():
    gaps = Conv2d(1, 8, 256, 256, 8, (41, 41), pool=Pool.of("max", 2, 3))
    assert dispatch.choose(gaps).name != "fft"
    reasons = {c.strategy: c.reason for c in dispatch.explain_choice(gaps)}
    assert "gaps" in reasons["fft"]


def test_a_named_strategy_is_taken_whatever_pays():
    assert dispatch.choose(Conv2d(1, 1, 9, 9, 1, (3, 3)), strategy="fft").name == "fft"


def test_fast_admits_ieee_and_not_the_reverse(monkeypatch):
    class Rough(Strategy):
        operation, name, summary, precision = "linear", "rough", "for this test", "fast"
        costs: ClassVar = {"": Costs(0, 0, 0, 0)}

        def bind(self, problem, parameters, device, config=None):
            raise AssertionError("not bound here")

    rough = Rough()
    rungs, preferred = (*ladder("linear"), rough), (rough, *preference("linear", "cpu"))
    monkeypatch.setattr(dispatch, "ladder", lambda operation, kind: rungs)
    monkeypatch.setattr(dispatch, "preference", lambda operation, kind: preferred)
    monkeypatch.setattr(dispatch, "by_name", lambda operation, name, kind: rough)
    problem = Linear(1, 2, 3)
    assert dispatch.choose(problem, "fast") is rough
    assert dispatch.choose(problem, "ieee") is not rough
    assert dispatch.choose(problem, "fast", strategy="rough") is rough
    with pytest.raises(UnsupportedProblem, match="fast"):
        dispatch.choose(problem, "ieee", strategy="rough")
    explained = {c.strategy: c for c in dispatch.explain_choice(problem, "ieee")}
    assert "precision" in explained["rough"].reason


def test_a_strategy_without_a_place_is_taken_by_name_only(monkeypatch):
    problem = Pool2d(1, 1, 4, 4, Pool.of("max", 2))
    (threads,) = (rung for rung in ladder("pool2d") if rung.name == "threads")
    monkeypatch.setattr(dispatch, "preference", lambda operation, kind: (threads,))
    assert dispatch.choose(problem) is threads
    considered = dispatch.explain_choice(problem)
    assert [c.strategy for c in considered] == ["threads", "rows", "loops"]
    assert [c.reason for c in considered[1:]] == [dispatch.BY_NAME] * 2
    assert dispatch.choose(problem, strategy="rows").name == "rows"
    monkeypatch.setattr(dispatch, "preference", lambda operation, kind: ())
    dispatch.kept.clear()
    with pytest.raises(UnsupportedProblem, match="no strategy of pool2d"):
        dispatch.choose(problem)
    assert dispatch.decide_together(Chain((("pool", problem),)), "ieee", "cpu") is None


@pytest.mark.parametrize(
    ("argument", "keywords"),
    [
        ("precision", {"precision": "double"}),
        ("device", {"device": "gpu"}),
        ("strategy", {"strategy": "fastest"}),
        ("strategy", {"strategy": 3}),
    ],
)
def test_unknown_words_are_input_errors(argument, keywords):
    with pytest.raises(InputError) as caught:
        dispatch.choose(Softmax(1, 2), **keywords)
    assert caught.value.argument == argument


@pytest.mark.parametrize("kind", ["cuda", "opencl"])
def test_an_operation_without_gpu_strategies_says_so(kind):
    class Unknown(Softmax):
        operation = "unknown"

    for strategy in (None, "loops"):
        with pytest.raises(UnsupportedProblem, match=f"no strategies on {kind} yet"):
            dispatch.choose(Unknown(2, 3), device=f"{kind}:0", strategy=strategy)


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("precision", ["ieee", "tf32", "fp16", "bf16"])
def test_what_a_gpu_has_no_instructions_for_is_not_picked(monkeypatch, architecture, precision):
    gpu = SimpleNamespace(description=SimpleNamespace(architecture=architecture))
    monkeypatch.setattr(dispatch, "lent_gpu", lambda device: gpu)
    problems = (
        Linear(1024, 6272, 512),
        named("conv2d", "lenet-conv1", 256),
        named("conv2d", "lenet-conv2", 256),
        Conv2d(8, 64, 30, 30, 64, (3, 3)),
    )
    for problem in problems:
        picked = dispatch.choose(problem, precision, "cuda")
        assert picked.why_not_on(architecture) is None


def test_tensor_cores_are_picked_where_there_is_work_for_them(monkeypatch):
    gpu = SimpleNamespace(description=SimpleNamespace(architecture="sm_90"))
    monkeypatch.setattr(dispatch, "lent_gpu", lambda device: gpu)
    for precision in ("ieee", "tf32", "fp16", "bf16"):
        for problem in (Linear(1024, 6272, 512), Conv2d(64, 64, 56, 56, 64, (3, 3))):
            assert dispatch.choose(problem, precision, "cuda").tensor_cores
    assert dispatch.choose(Linear(1, 6272, 512), "fp16", "cuda").name == "warp_rows"


@pytest.mark.parametrize("kind", ["cuda", "opencl"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.operation)
def test_every_gpu_strategy_is_explained_and_one_is_taken(problem, kind):
    considered = dispatch.explain_choice(problem, "fast", kind)
    assert {c.strategy for c in considered} == {r.name for r in ladder(problem.operation, kind)}
    assert all(c.reason for c in considered)
    assert [c.taken for c in considered].count(True) == 1
    reasons = {c.strategy: c.reason for c in considered}
    assert "by name" in reasons.get("winograd", "by name")


def test_a_strategy_of_another_kind_of_device_is_unknown():
    problem = Conv2d(1, 1, 9, 9, 1, (3, 3))
    with pytest.raises(InputError, match="direct_tile"):
        dispatch.choose(problem, device="opencl", strategy="loops")
    with pytest.raises(InputError, match="loops"):
        dispatch.choose(problem, strategy="direct_tile")
    assert dispatch.choose(problem, "fast", "cuda", "winograd").precision == "fast"
    with pytest.raises(UnsupportedProblem, match="precision"):
        dispatch.choose(problem, "ieee", "cuda", "winograd")


def test_a_tunings_winner_is_picked_and_explained(monkeypatch):
    problem = named("conv2d", "lenet-conv1", 2)
    winner = ladder("conv2d", "opencl")[0]
    asked = []

    def found(tunings, *given):
        asked.append((tunings.problem, *given))
        return winner

    monkeypatch.setattr(tuned.Tunings, "strategy", found)
    assert dispatch.choose(problem, "ieee", "opencl:1") is winner
    assert asked == [(problem, "ieee", 1)]
    taken = [c for c in dispatch.explain_choice(problem, "ieee", "opencl") if c.taken]
    assert [(c.strategy, c.reason) for c in taken] == [(winner.name, dispatch.TUNED)]
    named_one = dispatch.choose(problem, "ieee", "opencl", strategy="tile_input")
    assert named_one.name == "tile_input"


@pytest.fixture
def no_device(monkeypatch):
    """Whoever opens a device fails."""

    def forbidden(*_):
        raise AssertionError("a device was opened")

    for module, name in (
        (dispatch, "lent_gpu"), (dispatch, "describe_gpu"), (tuned, "describe_gpu"),
        (select, "open_gpu"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, forbidden)


def decisions(monkeypatch):
    """What is decided from now on, as a list that grows."""
    made, real = [], dispatch._decided
    monkeypatch.setattr(dispatch, "_decided", lambda *a: made.append(a) or real(*a))
    return made


@pytest.mark.parametrize("device", ["cpu", "opencl", "cuda:1"])
def test_a_choice_is_decided_once(monkeypatch, no_cuda, device):
    made = decisions(monkeypatch)
    first = dispatch.decide(Linear(1, 64, 10), "ieee", device)
    assert dispatch.decide(Linear(1, 64, 10), "ieee", device) is first
    assert len(made) == 1
    # What it is a choice for is the whole question.
    dispatch.decide(Linear(2, 64, 10), "ieee", device)
    dispatch.decide(Linear(1, 64, 10), "fast", device)
    named_one = dispatch.decide(Linear(1, 64, 10), "ieee", device, first.strategy.name)
    assert named_one.strategy is first.strategy
    assert len(made) == 4


def test_what_is_not_decided_is_not_kept(monkeypatch):
    made = decisions(monkeypatch)
    for _ in range(2):
        with pytest.raises(InputError):
            dispatch.decide(Softmax(1, 2), "double")
    assert len(made) == 2
    assert dispatch.kept == {}


def test_only_so_many_choices_are_kept(monkeypatch):
    monkeypatch.setattr(dispatch, "MOST_KEPT", 3)
    for batch in range(1, 9):
        dispatch.decide(Softmax(batch, 2))
        assert len(dispatch.kept) <= 3


@pytest.mark.parametrize("kind", ["cuda", "opencl"])
def test_choosing_opens_no_device_that_is_not_needed(no_device, kind):
    # Every device runs all strategies that take these.
    assert dispatch.choose(Softmax(2, 3), "ieee", kind).anywhere
    assert dispatch.choose(Pool2d(2, 3, 12, 20, Pool.of("max", 2)), "ieee", kind).anywhere
    assert dispatch.decide(Conv2d(1, 1, 9, 9, 1, (3, 3)), "ieee", kind, "naive").strategy
    many = named("conv2d", "lenet-conv1", 10_000)
    if kind == "cuda":
        with pytest.raises(AssertionError, match="opened"):
            dispatch.choose(many, "ieee", kind)
    assert dispatch.choose(many, "ieee", "cpu").name == "register_tile"


@pytest.mark.parametrize("kind", ["cpu", "opencl"])
@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
def test_a_precision_that_rounds_is_refused_where_nothing_rounds(kind, precision):
    with pytest.raises(InputError, match=f"'fast' on {kind}"):
        dispatch.choose(Linear(1, 6272, 512), precision, kind)
