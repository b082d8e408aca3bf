"""PyTorch's peers on a GPU: their flags and graphs with a PyTorch that notes what it is told."""

from __future__ import annotations

import contextlib
import importlib.machinery
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab import peers_gpu
from rooftile.lab.expected import Verdict
from rooftile.lab.verify import Exam
from rooftile.ops import Conv2d, Linear, Pool
from rooftile.ops.chain import Chain

CONV = Conv2d(3, 2, 12, 14, 3, (3, 5), (1, 2), (1, 2), activation="relu", pool=Pool.of("max", 2))
CHAIN = Chain((("conv", CONV), ("fc1", Linear(3, 54, 8, "relu")), ("fc2", Linear(3, 8, 5))))


class Tensor:
    """A result that says under which flags it was computed."""

    def __init__(self, flags):
        self.flags = flags

    def float(self):
        return self

    contiguous = cpu = float

    def numpy(self):
        return np.array(self.flags, np.float64)


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
    for precision in peers_gpu.PEER_PRECISIONS:
        found = peers_gpu.gpu_peers(precision)
        assert {peer.precision for peer in found} == {precision}
        assert [peer.name for peer in found] == [p.name for p in peers_gpu.gpu_peers("ieee")]
        assert len({(peer.channels_last, peer.compiled) for peer in found}) == 4
    assert peers_gpu.gpu_peers("fast") == peers_gpu.gpu_peers("ieee")
    with pytest.raises(InputError, match="precision"):
        peers_gpu.gpu_peers("fp8")


@pytest.mark.parametrize("precision", peers_gpu.PEER_PRECISIONS)
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
    assert peers_gpu.gpu_peers("tf32")[0].why_not() == "not installed: torch"


def test_peers_of_several_precisions_take_turns_each_under_its_own_flags(torch):
    seen = []

    def module(data):
        seen.append(torch.flags())
        return Tensor(torch.flags())

    calls = [peers_gpu.TorchCall(module, None, name) for name in ("ieee", "tf32", "fp16")]
    for call in calls:
        call()
    expected = [(True, False, False), (True, True, True), (True, False, False)]
    assert seen == expected
    works = [call.work() for call in calls]
    for call, work, flags in zip(calls, works, expected, strict=True):
        computed = len(seen)
        work.many()
        call()
        assert len(seen) == computed, "a captured call is a replay"
        assert tuple(call.result()) == flags
    assert set(seen) == set(expected)
    # 0.3 ms: four fill a sample.  A call replays the graph whose result it gives.
    assert [work.count for work in works] == [4, 4, 4]
    assert len(torch.replays) == 6
    assert torch.flags() == (False, True, False)


def test_a_peer_is_bound_computes_and_is_captured_once(torch):
    class Peer(peers_gpu.GpuPeer):
        def why_not(self):
            return "it is Sunday" if self.name == "absent" else None

        def bind(self, problem, parameters, x, index):
            if self.name == "broken":
                raise RuntimeError("no kernel image")
            assert (problem, index) == (CONV, 1)
            return peers_gpu.TorchCall(lambda data: Tensor((1, 2)), None, "fp16")

    said = []

    def prepare(name):
        peer = Peer(name, "fp16")
        return peers_gpu.prepare(peer, CONV, (), np.zeros(3, np.float32), "cuda:1", said.append)

    found = prepare("there")
    assert found.first_call_ms > 0
    assert found.row("failed", "slow").strategy == "there"
    absent, broken = prepare("absent"), prepare("broken")
    assert (absent.status, absent.reason) == ("skipped", "it is Sunday")
    assert (broken.status, broken.reason) == ("error", "RuntimeError: no kernel image")
    assert said == ["there (fp16)", "broken (fp16)"]
    assert found.computed().tolist() == [1, 2]
    assert found.computed().dtype == np.float32


def test_what_a_formats_roundings_explain_is_no_wrong_result():
    def excuse(max_rel, precision, passed=False):
        verdict = Verdict(passed, "" if passed else "wrong", max_rel=max_rel, budget_fraction=30.0)
        return peers_gpu.excuse(verdict, precision)

    assert excuse(0.5, "ieee", passed=True) == ""
    for precision, unit in (("tf32", 2.0**-10), ("fp16", 2.0**-11), ("bf16", 2.0**-8)):
        said = excuse(2 * unit, precision)
        assert "30 times the budget of" in said
        assert precision in said
        assert excuse(0.3, precision) is None
        assert excuse(np.nan, precision) is None
    assert excuse(1e-6, "ieee") is None
    assert excuse(1e-6, "fast") is None


@pytest.mark.parametrize("problem", [CONV, CHAIN], ids=["conv2d", "network"])
@pytest.mark.parametrize("precision", peers_gpu.PEER_PRECISIONS)
def test_every_peer_computes_at_its_precision_on_a_gpu(problem, precision, cuda_device):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    exam = Exam(problem, seed=2)
    with cuda_device.on():
        for peer in peers_gpu.gpu_peers(precision):
            found = peers_gpu.prepare(peer, problem, exam.parameters, exam.x, "cuda", print)
            assert isinstance(found, peers_gpu.Prepared), found
            out = found.computed().reshape(problem.output_shape)
            verdict = exam.expected.judge(out, peers_gpu.errors_of(precision))
            assert peers_gpu.excuse(verdict, precision) is not None, (peer, verdict)


def test_tf32_is_what_the_tf32_peer_computes_on_a_gpu(cuda_device):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    exam = Exam(Linear(512, 1024, 1024), seed=3)
    errors = {}
    with cuda_device.on():
        calls = {
            name: peers_gpu.prepare(
                peers_gpu.gpu_peers(name)[0], exam.problem, exam.parameters, exam.x, "cuda", print
            )
            for name in ("ieee", "tf32")
        }  # fmt: skip
        for name in ("tf32", "ieee", "tf32"):
            errors[name] = exam.expected.judge(calls[name].computed(), "ieee").max_rel
    assert errors["ieee"] < 1e-5 < errors["tf32"]
