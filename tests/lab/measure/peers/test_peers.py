from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rooftile.lab.judge.verify import Exam
from rooftile.lab.measure.peers import cpu as peers
from rooftile.lab.measure.peers import onnx as _onnx
from rooftile.lab.measure.peers.gpu import gpu_peers
from rooftile.ops import Conv2d, Layer, Linear, Pool, Pool2d, Softmax
from rooftile.ops.layers.chain import Chain
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.patterns.grayscale import Grayscale
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.matvec import Matvec
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.ops.patterns.rotate import Rotate
from rooftile.ops.patterns.separable import Separable
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.patterns.stencil import Stencil
from rooftile.ops.patterns.transpose import Transpose
from rooftile.ops.patterns.unique import Unique

CONV = Conv2d(3, 2, 12, 14, 3, (3, 5), (1, 2), (1, 2), activation="relu", pool=Pool.of("max", 2))
PROBLEMS = {
    "conv2d": CONV,
    "average": Conv2d(2, 3, 9, 9, 4, (2, 2), activation="tanh", pool=Pool.of("average", 3, 2)),
    "linear": Linear(3, 20, 7, "sigmoid"),
    "gelu": Linear(3, 20, 7, "gelu"),
    "pool2d": Pool2d(2, 3, 9, 9, Pool.of("max", 3, 2)),
    "softmax": Softmax(4, 9),
    "add": Elementwise("add", (3, 5)),
    "axpy": Elementwise("axpy", (15,)),
    "scale": Elementwise("scale", (15,), "float64"),
    "matmul": Matmul(5, 7, 4, transpose_b=True),
    "matvec": Matvec(5, 7, True),
    "transpose": Transpose((3, 4, 5), (0, 2, 1)),
    "rotate": Rotate((3, 7), -2),
    "permute_columns": PermuteColumns(3, 5, 4),
    "grayscale": Grayscale(4, 5),
    "box_blur": BoxBlur(9, 17, 2, 3),
    "conv1d": Conv1d(40, 6, "replicate"),
    "conv1d, channels": Conv1d(20, 5, "interior", 2, 3, 2, 3),
    "separable": Separable(12, 13, (4, 3), "valid"),
    "conv3d": Conv3d(5, 6, 7, (3, 2, 3)),
    "conv3d, channels": Conv3d(5, 6, 7, (2, 3, 3), "valid", 2, 3, 2, "batch"),
    "stencil": Stencil((6, 7, 8), 13, 2),
    "stencil, valid": Stencil((9, 8), 9, 2, "valid"),
    "sort": Sort((3, 50)),
    "sort, places": Sort((50, 3), 0, gives="places"),
    "unique": Unique(200),
    "network": Chain((("conv", CONV), ("fc1", Linear(3, 54, 8, "relu")), ("fc2", Linear(3, 8, 5)))),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
@pytest.mark.parametrize("peer", peers.PEERS, ids=lambda peer: peer.name)
def test_an_installed_peer_computes_the_problem(peer, problem):
    reason = peer.why_not(problem)
    if reason is not None:
        pytest.skip(reason)
    if "compile" in peer.name:
        pytest.skip("compiling takes a minute")
    exam = Exam(problem, seed=2)
    verdict = exam.examine(peer.bind(problem, exam.parameters), "ieee")
    assert verdict.passed, verdict


LAYERS = {name: p for name, p in PROBLEMS.items() if isinstance(p, Layer)}


@pytest.mark.parametrize("problem", LAYERS.values(), ids=LAYERS.keys())
def test_onnx_models_have_the_problems_names_and_shapes(problem):
    onnx = pytest.importorskip("onnx")
    exam = Exam(problem)
    graph = onnx.load_from_string(_onnx.onnx_model(problem, exam.parameters)).graph
    shapes = [
        tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
        for value in (*graph.input, *graph.output)
    ]
    assert shapes == [problem.input_shape, problem.output_shape]
    assert [value.name for value in (*graph.input, *graph.output)] == ["x", "out"]
    assert sum(len(c.dims) > 0 for c in graph.initializer) == len(exam.parameters)


def test_a_missing_library_is_named():
    peer = replace(peers.PEERS[0], packages=("rooftile_no_such_package",))
    assert peer.why_not(CONV) == peer.missing() == "not installed: rooftile_no_such_package"


def test_an_operation_that_nobody_describes_has_no_peers():
    class Unknown(Softmax):
        operation = "unknown"

    for peer in (*peers.PEERS, *gpu_peers("ieee")):
        here = replace(peer, packages=()) if isinstance(peer, peers.Peer) else peer
        if here.missing() is None:
            assert here.why_not(Unknown(2, 3)) == "no operation says how it computes unknown"
            known = Conv1d(9, 3) if here.name in ("numpy", "scipy") else Softmax(2, 3)
            assert here.why_not(known) is None


def test_a_bound_peer_computes_what_it_was_given_last():
    call = peers.PeerCall(lambda inputs: inputs[0], lambda x: 2 * x, np.asarray, Softmax(2, 3))
    first, second = np.ones((2, 3), np.float32), np.full((2, 3), 3, np.float32)
    call.give([first])
    call.compute()
    assert (call.result()[0] == 2).all()
    call.give([second])
    assert (call.result()[0] == 2).all()
    call.repeat(call.compute)
    assert (call.result()[0] == 6).all()
    out = np.empty((2, 3), np.float32)
    call(first, out)
    assert (out == 2).all()


def test_memory_is_kept_within_the_block_only():
    with peers.keeping_memory() as kept:
        assert isinstance(kept, bool)
