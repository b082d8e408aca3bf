from __future__ import annotations

import pytest

from rooftile.lab import _onnx, peers
from rooftile.lab.verify import Exam
from rooftile.ops import Conv2d, Linear, Pool, Pool2d, Softmax
from rooftile.ops.chain import Chain

CONV = Conv2d(3, 2, 12, 14, 3, (3, 5), (1, 2), (1, 2), activation="relu", pool=Pool.of("max", 2))
PROBLEMS = {
    "conv2d": CONV,
    "average": Conv2d(2, 3, 9, 9, 4, (2, 2), activation="tanh", pool=Pool.of("average", 3, 2)),
    "linear": Linear(3, 20, 7, "sigmoid"),
    "pool2d": Pool2d(2, 3, 9, 9, Pool.of("max", 3, 2)),
    "softmax": Softmax(4, 9),
    "network": Chain((("conv", CONV), ("fc1", Linear(3, 54, 8, "relu")), ("fc2", Linear(3, 8, 5)))),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
@pytest.mark.parametrize("peer", peers.PEERS, ids=lambda peer: peer.name)
def test_an_installed_peer_computes_the_problem(peer, problem):
    reason = peer.why_not()
    if reason is not None:
        pytest.skip(reason)
    if "compile" in peer.name:
        pytest.skip("compiling takes a minute")
    exam = Exam(problem, seed=2)
    verdict = exam.examine(peer.bind(problem, *exam.parameters), "ieee")
    assert verdict.passed, verdict


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_onnx_models_have_the_problems_shapes(problem):
    onnx = pytest.importorskip("onnx")
    exam = Exam(problem)
    graph = onnx.load_from_string(_onnx.onnx_model(problem, exam.parameters)).graph
    shapes = [
        tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
        for value in (*graph.input, *graph.output)
    ]
    assert shapes == [problem.input_shape, problem.output_shape]
    assert sum(len(c.dims) > 0 for c in graph.initializer) == len(exam.parameters)


def test_a_missing_library_is_named():
    peer = peers.Peer("none", ("rooftile_no_such_package",), peers.PEERS[0].build)
    assert peer.why_not() == "not installed: rooftile_no_such_package"


def test_memory_is_kept_within_the_block_only():
    with peers.keeping_memory() as kept:
        assert isinstance(kept, bool)
