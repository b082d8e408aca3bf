"""PyTorch's peers on a GPU: their flags and graphs with a PyTorch that notes what it is told."""

from __future__ import annotations

import contextlib
import importlib.machinery
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.judge import arithmetic
from rooftile.lab.judge.arithmetic import PEER_PRECISIONS
from rooftile.lab.measure.contest import Contest
from rooftile.lab.measure.peers import gpu as peers_gpu
from rooftile.ops import Conv2d, Linear, Pool
from rooftile.ops.layers.chain import Chain

CONV = Conv2d(3, 2, 12, 14, 3, (3, 5), (1, 2), (1, 2), activation="relu", pool=Pool.of("max", 2))
FLAGS = Linear(1, 2, 3)
"""Its result is three numbers."""
CHAIN = Chain((("conv", CONV), ("fc1", Linear(3, 54, 8, "relu")), ("fc2", Linear(3, 8, 5))))


class Tensor:
    """A result that says under which flags it was computed."""

    def __init__(self, flags):
        self.flags = flags

    def float(self):
        return self

    contiguous = cpu = float

    def numpy(self):
        return np.array(self.flags, np.float64).ravel()


@pytest.fixture
def torch(monkeypatch):
    """Stands for PyTorch on a machine with a GPU whose clock goes 0.3 ms from event to event."""
    made = ModuleType("torch")
    made.__spec__ = importlib.machinery.ModuleSpec("torch", None)
    cudnn = SimpleNamespace(benchmark=False, allow_tf32=True)
    matmul = SimpleNamespace(allow_tf32=False)
    made.backends = SimpleNamespace(cudnn=cudnn, cuda=SimpleNamespace(matmul=matmul))
    made.flags = lambda: (cudnn.benchmark, cudnn.allow_tf32, matmul.allow_tf32)
    made.no_grad = contextlib.nullcontext
    made.uint8 = "uint8"
    made.replays = []

    class Graph:
        def replay(self):
            made.replays.append(self)

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            pass

        def elapsed_time(self, other):
            return 0.3

    made.empty = lambda *_, **__: SimpleNamespace(zero_=lambda: None)
    made.cuda = SimpleNamespace(
        is_available=lambda: True, CUDAGraph=Graph, Event=Event, synchronize=lambda: None,
        graph=lambda graph: contextlib.nullcontext(), current_device=lambda: 0,
        get_device_properties=lambda index: SimpleNamespace(L2_cache_size=2**20),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", made)
    return made


def test_each_precision_has_the_same_four_peers():
    for precision in PEER_PRECISIONS:
        found = peers_gpu.gpu_peers(precision)
        assert {peer.precision for peer in found} == {precision}
        assert [peer.name for peer in found] == [p.name for p in peers_gpu.gpu_peers("ieee")]
        assert len({(peer.channels_last, peer.compiled) for peer in found}) == 4
    assert peers_gpu.gpu_peers("fast") == peers_gpu.gpu_peers("ieee")
    with pytest.raises(InputError, match="precision"):
        peers_gpu.gpu_peers("fp8")


@pytest.mark.parametrize("precision", PEER_PRECISIONS)
def test_tf32_is_allowed_at_tf32_alone(torch, precision):
    tf32 = precision == "tf32"
    with peers_gpu.arithmetic("tf32"), peers_gpu.arithmetic(precision):
        assert torch.flags() == (True, tf32, tf32)
    assert torch.flags() == (False, True, False)
    with pytest.raises(ValueError, match="broken"), peers_gpu.arithmetic(precision):
        raise ValueError("broken")
    assert torch.flags() == (False, True, False)


def test_without_pytorch_there_is_no_arithmetic_to_choose(monkeypatch):
    monkeypatch.setattr(peers_gpu.importlib.util, "find_spec", lambda name: None)
    with peers_gpu.arithmetic("tf32"):
        pass
    peer = peers_gpu.gpu_peers("tf32")[0]
    assert peer.why_not(CONV) == peer.missing() == "not installed: torch"


def test_peers_of_several_precisions_take_turns_each_under_its_own_flags(torch):
    seen = []

    def module():
        seen.append(torch.flags())
        return Tensor(torch.flags())

    calls = [peers_gpu.TorchCall(module, None, name, FLAGS) for name in ("ieee", "tf32", "fp16")]
    for call in calls:
        call.compute()
    expected = [(True, False, False), (True, True, True), (True, False, False)]
    assert seen == expected
    works = [call.work() for call in calls]
    for call, work, flags in zip(calls, works, expected, strict=True):
        computed = len(seen)
        work.many()
        call.repeat(work)
        assert len(seen) == computed, "a captured call is a replay"
        (result,) = call.result()
        assert tuple(result[0]) == flags
        assert result.dtype == np.float32
    assert set(seen) == set(expected)
    # 0.3 ms: four fill a sample.  A call replays the graph whose result it gives.
    assert [work.count for work in works] == [4, 4, 4]
    assert len(torch.replays) == 6
    assert torch.flags() == (False, True, False)


def test_a_peer_computes_what_it_was_given_last(torch):
    """Until what is timed has been captured."""
    call = peers_gpu.TorchCall(lambda data: Tensor(data), lambda x: 2 * x, "fp16", FLAGS)
    for given in (1, 2):
        call.give([np.full(3, given)])
        call.compute()
        (result,) = call.result()
        assert result.tolist() == [[2 * given] * 3]
    work = call.work()
    for _ in range(2):
        call.repeat(work)
    assert len(torch.replays) == 2


@pytest.mark.alone
@pytest.mark.parametrize("problem", [CONV, CHAIN], ids=["conv2d", "network"])
@pytest.mark.parametrize("precision", PEER_PRECISIONS)
def test_every_peer_computes_at_its_precision_on_a_gpu(problem, precision, cuda_device):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    with cuda_device.on():
        contest = Contest(problem, cuda_device)
        if problem is CHAIN:
            contest.excuse = lambda verdict, precision: arithmetic.excuse_of_network(verdict)
        for peer in peers_gpu.gpu_peers(precision):
            (row,) = contest.rows([contest.peer(peer)])
            assert row.status == "passed", row


def test_tf32_is_what_the_tf32_peer_computes_on_a_gpu(cuda_device):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    errors = {}
    with cuda_device.on():
        contest = Contest(Linear(512, 1024, 1024), cuda_device, seed=3, verified=512)
        entries = {name: contest.peer(peers_gpu.gpu_peers(name)[0]) for name in ("ieee", "tf32")}
        for name in ("tf32", "ieee", "tf32"):
            verdict = contest.exam.expected.judge(entries[name].result(), "ieee")
            errors[name] = verdict.max_rel
    assert errors["ieee"] < 1e-5 < errors["tf32"]
