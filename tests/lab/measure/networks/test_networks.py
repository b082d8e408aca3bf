"""A network's contest: who is right is timed, who is wrong says so, peers with some lenience."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.lab.judge.arithmetic import errors_of
from rooftile.lab.judge.expected import Expected
from rooftile.lab.measure.climb import judge_peers
from rooftile.lab.measure.contest import VERIFIED_ITEMS
from rooftile.lab.measure.networks import contest as networks
from rooftile.lab.measure.networks.contest import NetworkContest, random_network
from rooftile.lab.measure.networks.layers import PlanWork
from rooftile.lab.measure.peers import cpu as host_peers
from rooftile.lab.measure.peers.gpu import GpuPeer, TorchCall
from rooftile.nn import ConvLayer, LinearLayer, Network
from rooftile.ops import Chain, Pool
from rooftile.runtime.timing import device as measure_gpu
from rooftile.runtime.timing.device import TimedLaunches

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("quick")]

SMALL = random_network(
    Network(
        "small",
        (1, 12, 12),
        (
            ConvLayer("conv1", 3, 3, activation="relu", pool=Pool.of("max", 2)),
            LinearLayer("linear1", 9, "relu"),
            LinearLayer("linear2", 4),
        ),
    ),
    seed=1,
)


class Clock:
    """The host's, for work that the host does."""

    def mark(self) -> float:
        return time.perf_counter()

    def between(self, before: float, after: float) -> float:
        return 1e3 * (after - before)

    def synchronise(self) -> None:
        pass


class Peer:
    """Stands for a `GpuPeer`: the reference, each score ``wrong`` times too large."""

    def __init__(self, name: str, wrong: float = 1.0, precision: str = "ieee") -> None:
        self.name, self.wrong, self.precision = name, wrong, precision
        self.errors = errors_of(precision)

    def missing(self) -> str | None:
        return "not installed: torch" if self.name == "missing" else None

    def why_not(self, problem: Any) -> str | None:
        return self.missing()

    def bind(self, problem: Any, parameters: Any, inputs: Any, device: Any) -> Any:
        if self.name == "broken":
            raise RuntimeError("no kernel image")
        peer = self

        class Call:
            def give(self, inputs: Any) -> None:
                (x,) = inputs
                scores = problem.with_batch(len(x)).reference(x, *parameters)
                self.scores = peer.changed((scores * peer.wrong).astype(np.float32))

            def compute(self) -> None:
                time.sleep(1e-3)

            def result(self) -> Any:
                return (self.scores,)

            def work(self, clock: Any) -> TimedLaunches:
                return TimedLaunches(Clock(), self.compute, self.compute, 1, lambda: None, 0.1)

            def repeat(self, work: Any) -> None:
                self.compute()

        call = Call()
        call.give(inputs)
        return call

    def changed(self, scores: Any) -> Any:
        """What is wrong besides."""
        return scores


def contest(device: Any, batch: int = 5, **options: Any) -> NetworkContest:
    return NetworkContest(SMALL, batch, device, **options)


def plan(contest: NetworkContest, network: Network = SMALL, **options: Any) -> Any:
    batch = contest.problem.batch_size
    return network.plan(batch=batch, device=contest.device.name, **options)


@pytest.mark.parametrize("batch", [1, VERIFIED_ITEMS + 7])
def test_a_right_plan_and_right_peers_have_times(batch: int, device: Any) -> None:
    found = contest(device, batch)
    ours, peer, missing, broken = found.contest(
        plan(found), [Peer("right"), Peer("missing"), Peer("broken")]
    )
    assert (ours.status, ours.kind, ours.precision) == ("passed", "strategy", "ieee")
    assert ours.config == plan(found).strategies
    assert ours.error.budget_fraction < 1
    assert ours.time_ms.median > 0
    assert ours.gflops == pytest.approx(found.problem.flops / ours.time_ms.median * 1e-6)
    repeated = f"verified on {VERIFIED_ITEMS} images, repeated to the batch"
    assert (peer.status, peer.kind) == ("passed", "peer")
    assert ours.reason == peer.reason == (repeated if batch > 1 else "")
    assert (missing.status, missing.reason) == ("skipped", "not installed: torch")
    assert (broken.status, broken.reason) == ("error", "RuntimeError: no kernel image")


def test_a_wrong_plan_has_no_time(device: Any) -> None:
    weights = {**SMALL.parameters, "conv1.weights": SMALL.parameters["conv1.weights"][::-1].copy()}
    found = contest(device)
    (row,) = found.contest(plan(found, SMALL.with_parameters(weights)), [])
    assert (row.status, row.cause) == ("failed", "wrong")
    assert "items are off by their norm" in row.reason
    assert row.time_ms is None


def test_a_plan_that_keeps_its_scores_is_wrong(device: Any, monkeypatch: Any) -> None:
    found = contest(device)
    ours = plan(found)
    real, kept = type(ours).__call__, {}

    def lazy(self: Any, images: Any, *, out: Any = None) -> Any:
        made = kept.setdefault(len(images), real(self, images).copy())
        if out is not None:
            out[...] = made
        return made

    monkeypatch.setattr(type(ours), "__call__", lazy)
    (row,) = found.contest(ours, [])
    assert (row.status, row.cause) == ("failed", "wrong")


def test_what_a_plan_raises_is_a_row(device: Any, monkeypatch: Any) -> None:
    found = contest(device)
    ours = plan(found)

    def broken(*_: Any, **__: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(type(ours), "__call__", broken)
    (row,) = found.contest(ours, [])
    assert (row.status, row.cause) == ("error", "out of memory")


def test_what_the_timed_work_leaves_is_judged(device: Any, monkeypatch: Any) -> None:
    found = contest(device)
    right = PlanWork.computed

    def lazy(work: PlanWork) -> Any:
        return np.where(right(work) > 1, np.nan, right(work))

    monkeypatch.setattr(PlanWork, "computed", lazy)
    (row,) = found.contest(plan(found), [])
    assert (row.status, row.time_ms) == ("failed", None)
    assert "in the batch of 5" in row.reason


def test_scores_come_from_poisoned_memory(device: Any) -> None:
    found = contest(device)
    ours = plan(found)
    (x,) = found.inputs
    work = PlanWork(ours, x, measure_gpu.Flush(device))
    np.testing.assert_array_equal(work.computed(), ours(x))


def test_peers_have_some_lenience_and_say_so(device: Any) -> None:
    found = contest(device)
    unit = 2.0**-11
    peers = [Peer(f"{n} units", 1 + n * unit, "fp16") for n in (2, 20, 50)]
    _, near, lenient, wrong = found.contest(plan(found), peers)
    assert (near.status, near.reason) == ("passed", "")
    assert lenient.status == "passed"
    assert "off by 2.5 times their budget, the worst by" in lenient.reason
    assert (wrong.status, wrong.time_ms) == ("failed", None)


@pytest.mark.parametrize("precision", ["ieee", "tf32", "fp16", "bf16"])
def test_one_wrong_image_of_many_is_seen(precision: str) -> None:
    problem = Chain(SMALL.problems(10))
    arrays = problem.random(0)
    expected = Expected(problem, *arrays)
    right = problem.reference(*arrays).astype(np.float32)
    assert expected.judge(right, precision).budget_fraction < 1
    for change in (lambda a: a.__setitem__(7, a[6]), lambda a: a.__setitem__((9, 3), np.nan)):
        scores = right.copy()
        change(scores)
        verdict = expected.judge(scores, precision)
        assert verdict.budget_fraction > 8
        assert verdict.max_abs > 0.1


def test_scores_of_float32_are_held_to_the_error_of_one_sum() -> None:
    """Not to that of magnitudes, which grow from layer to layer."""
    problem = Chain(SMALL.problems(10))
    arrays = problem.random(0)
    right = problem.reference(*arrays)
    unit = 2.0**-24 * problem.reduction**0.5
    expected = Expected(problem, *arrays)
    assert expected.judge((right * (1 + unit)).astype(np.float32), "ieee").passed
    assert not expected.judge((right * (1 + 4 * unit)).astype(np.float32), "ieee").passed


def test_images_that_are_given_are_computed_and_the_first_verified(
    device: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(networks, "GIVEN_IMAGES", 3)
    x = np.random.default_rng(4).standard_normal((5, 1, 12, 12), np.float32)
    found = contest(device, images=x)
    bound = []

    class Late(Peer):
        """Wrong, but in the last image alone."""

        def bind(self, problem: Any, parameters: Any, inputs: Any, device: Any) -> Any:
            bound.append(inputs[0])
            return super().bind(problem, parameters, inputs, device)

        def changed(self, scores: Any) -> Any:
            scores[4] *= -1
            return scores

    ours, right, late = found.contest(plan(found), [Peer("right"), Late("late")])
    assert ours.reason == right.reason == "verified on the first 3 of 5 images"
    assert late.status == "passed"
    assert late.reason == f"{ours.reason}; another class than the plan's for 1 of 5 images"
    assert bound[0] is x
    monkeypatch.setattr(networks, "REFERENCE_FLOPS", 1)
    (row,) = contest(device, images=x).contest(plan(found), [])
    assert row.reason == "verified on the first 1 of 5 images"


def test_impossible_times_are_refused(device: Any) -> None:
    slow = SimpleNamespace(
        most_gflops=lambda precision: 1e-9, bandwidth_gbps=1.0, floor_ms=lambda *_: 1.0
    )
    found = contest(device, 3, roof=slow)
    (row,) = found.contest(plan(found), [])
    assert (row.status, row.cause) == ("failed", "invalid time")
    (row,) = contest(device, 3, roof=slow, trusted=False).contest(plan(found), [])
    assert row.status == "passed"


def test_peers_of_the_cpu_compute_the_network_too(quick: Any, monkeypatch: Any) -> None:
    class OnHost(Peer):
        def bind(self, *given: Any) -> Any:
            call = super().bind(*given)
            call.work = lambda clock: clock.work(call.compute)
            return call

    off = 3 * 2.0 * 2.0**-24 * Chain(SMALL.problems(1)).reduction ** 0.5
    peers = OnHost("right"), OnHost("rough", 1 + off), OnHost("wrong", 1.001), OnHost("missing")
    monkeypatch.setattr(host_peers, "PEERS", peers)
    x = np.random.default_rng(4).standard_normal((5, 1, 12, 12), np.float32)
    rows = judge_peers(NetworkContest(SMALL, 5, cpu.open_device(), images=x))
    assert [row.status for row in rows] == ["passed", "passed", "failed", "skipped"]
    assert "times their budget" in rows[1].reason


def test_the_fake_peer_is_like_a_peer() -> None:
    assert {"missing", "why_not", "bind", "errors"} <= set(dir(GpuPeer)) & set(dir(host_peers.Peer))
    assert {"name", "precision"} <= set(GpuPeer.__dataclass_fields__)
    for kind in (TorchCall, host_peers.PeerCall):
        assert {"give", "compute", "result", "work", "repeat"} <= set(dir(kind))
