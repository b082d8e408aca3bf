"""A network's contest: who is right is timed, who is wrong says so, peers with some lenience."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rooftile.lab import measure_gpu
from rooftile.lab.climb_gpu import VERIFIED_IMAGES
from rooftile.lab.measure_gpu import Work
from rooftile.lab.peers_gpu import GpuPeer
from rooftile.nn import ConvLayer, LinearLayer, Network, gpu_contest
from rooftile.nn.gpu_contest import GpuContest, judged, random_network
from rooftile.ops import Chain, Pool

pytestmark = pytest.mark.alone

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


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are not what these tests look at."""
    monkeypatch.setattr(measure_gpu, "_MOST_SAMPLES", 3)
    monkeypatch.setattr(measure_gpu, "_WARM_UP_S", 0)


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

    def why_not(self) -> str | None:
        return "not installed: torch" if self.name == "missing" else None

    def bind(self, problem: Any, parameters: Any, x: Any, index: int) -> Any:
        if self.name == "broken":
            raise RuntimeError("no kernel image")
        scores = (problem.reference(x, *parameters) * self.wrong).astype(np.float32)

        class Call:
            def __call__(self) -> None:
                time.sleep(1e-3)

            def result(self) -> Any:
                return scores

            def work(self) -> Work:
                return Work(Clock(), self, self, 1, lambda: None, 0.1)

        return Call()


def contest(device: Any, batch: int = 5) -> GpuContest:
    return GpuContest(SMALL, batch, device, None)


def plan(contest: GpuContest, network: Network = SMALL, **options: Any) -> Any:
    return network.plan(batch=contest.batch, device=contest.name, **options)


@pytest.mark.parametrize("batch", [1, VERIFIED_IMAGES + 7])
def test_a_right_plan_and_right_peers_have_times(batch: int, device: Any) -> None:
    found = contest(device, batch)
    ours, peer, missing, broken = found.rows(
        plan(found), [Peer("right"), Peer("missing"), Peer("broken")]
    )
    assert (ours.status, ours.kind, ours.precision) == ("passed", "strategy", "ieee")
    assert ours.config == plan(found).strategies
    assert ours.error.budget_fraction < 1
    assert ours.time_ms.median > 0
    assert ours.gflops == pytest.approx(found.problem.flops / ours.time_ms.median * 1e-6)
    assert (peer.status, peer.kind, peer.reason) == ("passed", "peer", "")
    assert (missing.status, missing.reason) == ("skipped", "not installed: torch")
    assert (broken.status, broken.reason) == ("error", "RuntimeError: no kernel image")


def test_a_wrong_plan_has_no_time(device: Any) -> None:
    weights = {**SMALL.parameters, "conv1.weights": SMALL.parameters["conv1.weights"][::-1].copy()}
    found = contest(device)
    (row,) = found.rows(plan(found, SMALL.with_parameters(weights)), [])
    assert row.status == "failed"
    assert "on fresh inputs" in row.reason
    assert row.time_ms is None


def test_what_the_timed_work_leaves_is_judged(device: Any, monkeypatch: Any) -> None:
    found = contest(device)
    ours = plan(found)
    right = ours.contestant

    def lazy(images: Any, flush: Any) -> Any:
        work, computed = right(images, flush)
        return work, lambda: np.where(computed() > 1, np.nan, computed())

    monkeypatch.setattr(ours, "contestant", lazy)
    (row,) = found.rows(ours, [])
    assert (row.status, row.time_ms) == ("failed", None)
    assert "in the batch of 5" in row.reason


def test_scores_come_from_poisoned_memory(device: Any) -> None:
    found = contest(device)
    ours = plan(found)
    _, computed = ours.contestant(found.x, measure_gpu.Flush(device))
    np.testing.assert_array_equal(computed(), ours(found.x))


def test_peers_have_some_lenience_and_say_so(device: Any) -> None:
    found = contest(device)
    unit = 2.0**-11
    peers = [Peer(f"{n} units", 1 + n * unit, "fp16") for n in (2, 20, 50)]
    _, near, lenient, wrong = found.rows(plan(found, precision="fp16"), peers)
    assert (near.status, near.reason) == ("passed", "")
    assert lenient.status == "passed"
    assert "off by 2.5 times their budget" in lenient.reason
    assert (wrong.status, wrong.time_ms) == ("failed", None)


@pytest.mark.parametrize("precision", ["ieee", "tf32", "fp16", "bf16"])
def test_one_wrong_image_of_many_is_seen(precision: str) -> None:
    problem = Chain(SMALL.problems(8))
    reference = np.random.default_rng(0).standard_normal((4, 4))
    right = np.resize(reference, (10, 4)).astype(np.float32)
    assert judged(right, reference, precision, problem).budget_fraction < 1
    for change in (lambda a: a.__setitem__(7, a[6]), lambda a: a.__setitem__((9, 3), np.nan)):
        scores = right.copy()
        change(scores)
        error = judged(scores, reference, precision, problem)
        assert error.budget_fraction > 8
        assert error.max_abs > 0.1


def test_images_that_are_given_are_computed_and_the_first_verified(
    device: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(gpu_contest, "_GIVEN_IMAGES", 3)
    x = np.random.default_rng(4).standard_normal((5, 1, 12, 12), np.float32)
    found = GpuContest(SMALL, 5, device, None, images=x)
    bound = []

    class Late(Peer):
        """Wrong, but in the last image alone."""

        def bind(self, problem: Any, parameters: Any, x: Any, index: int) -> Any:
            bound.append(x)
            call = super().bind(problem, parameters, x, index)
            call.result()[4] *= -1
            return call

    ours, right, late = found.rows(plan(found), [Peer("right"), Late("late")])
    assert ours.reason == right.reason == "verified on the first 3 of 5 images"
    assert late.status == "passed"
    assert late.reason == f"{ours.reason}; another class than the plan's for 1 of 5 images"
    assert bound[0] is x
    monkeypatch.setattr(gpu_contest, "_REFERENCE_FLOPS", 1)
    (row,) = GpuContest(SMALL, 5, device, None, images=x).rows(plan(found), [])
    assert row.reason == "verified on the first 1 of 5 images"


def test_impossible_times_are_refused(device: Any) -> None:
    slow = SimpleNamespace(most_gflops=lambda precision: 1e-9, bandwidth_gbps=1.0)
    found = GpuContest(SMALL, 3, device, slow)  # type: ignore[arg-type]
    (row,) = found.rows(plan(found), [])
    assert row.status == "failed"
    assert "invalid time" in row.reason


def test_the_fake_peer_is_like_a_peer() -> None:
    assert {"why_not", "bind"} <= set(dir(GpuPeer))
    assert {"name", "precision"} <= set(GpuPeer.__dataclass_fields__)
