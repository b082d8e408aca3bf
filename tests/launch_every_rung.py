"""Launch every CUDA rung once on small problems, for NVIDIA's compute-sanitizer.

    compute-sanitizer --tool memcheck  python tests/launch_every_rung.py
    compute-sanitizer --tool racecheck python tests/launch_every_rung.py front warpgroups

``make sanitize`` does both.  Words pick the rungs whose names begin so, ``stream`` the streaming of
images, ``products`` the kernels of a published experiment, ``training`` steps of a training, and
``matrices`` conversions of sparse matrices and conjugate gradients.
``--part 2/3`` launches one rung of three, from the second on: the tool keeps one core busy, so
several parts beside each other are done sooner.  Results are not looked at: that is the tests'
task, without the tool.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rooftile
from rooftile import nn
from rooftile.devices.gpu import GpuDevice
from rooftile.devices.select import open_gpu
from rooftile.nn.training import TrainingOptions, train
from rooftile.ops import Chain, Conv2d, Linear, Pool, Pool2d, Problem, Softmax
from rooftile.ops.gradients.activation_gradient import ActivationGradient
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.ops.gradients.linear_cross_entropy import LinearCrossEntropy
from rooftile.ops.gradients.linear_gradient import LinearGradient
from rooftile.ops.gradients.linear_weights_gradient import LinearWeightsGradient
from rooftile.ops.gradients.loss_gradient import LossGradient
from rooftile.ops.gradients.mlp_training import MlpTraining, Neurons
from rooftile.ops.gradients.nearest_places import NearestPlaces
from rooftile.ops.gradients.optimiser_step import OptimiserStep
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.ops.gradients.softmax_cross_entropy import SoftmaxCrossEntropy
from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient
from rooftile.ops.layers.bias_activation import BiasActivation
from rooftile.ops.layers.dropout import Dropout
from rooftile.ops.layers.gather_batch import GatherBatch
from rooftile.ops.layers.most_likely import MostLikely
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.ops.patterns.compact import Compact
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.convert import Convert
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.patterns.equalize import Equalize
from rooftile.ops.patterns.grayscale import Grayscale
from rooftile.ops.patterns.histogram import Histogram
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.matvec import Matvec
from rooftile.ops.patterns.partition import Partition
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.ops.patterns.record_mean import RecordMean
from rooftile.ops.patterns.reduce import Reduce
from rooftile.ops.patterns.rotate import Rotate
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.patterns.scatter import Scatter
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.ops.patterns.separable import Separable
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.patterns.standardise import Standardise
from rooftile.ops.patterns.stencil import Stencil
from rooftile.ops.patterns.transpose import Transpose
from rooftile.ops.patterns.unique import Unique
from rooftile.ops.sparse.rows import FORMS
from rooftile.ops.sparse.spmm import Spmm
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies import ladder
from rooftile.strategies.contract.gpu import GpuStrategy, of_launches
from rooftile_papers.reproduce.experiment import Log
from rooftile_papers.reproduce.fused_products import Layer, variants
from rooftile_papers.reproduce.milestone_layers import MeasuredLayer

# A script has its own folder on the path, not the one that holds the package `tests`.
sys.path.append(str(Path(__file__).resolve().parents[1]))
from tests.support.storage import needed, stored_by

_POOL = Pool.of("max", 2)
PROBLEMS: dict[str, tuple[Problem, ...]] = {
    "conv2d": (
        Conv2d(3, 1, 86, 86, 4, (7, 7), activation="relu", pool=_POOL),
        Conv2d(5, 4, 40, 40, 16, (7, 7), activation="relu", pool=Pool.of("max", 4)),
        Conv2d(2, 3, 23, 18, 3, (5, 3), activation="tanh", pool=Pool.of("max", (2, 4))),
        Conv2d(2, 1, 28, 28, 8, (5, 5), padding=(2, 2), activation="relu"),
        Conv2d(1, 70, 20, 24, 70, (3, 3), padding=(1, 1), activation="relu", pool=_POOL),
        Conv2d(2, 64, 14, 14, 64, (1, 1)),
        # More images than persistent blocks have teams.
        Conv2d(1200, 4, 10, 16, 8, (5, 5), activation="relu", pool=_POOL),
    ),
    "linear": (
        Linear(300, 1024, 32, "relu"),
        Linear(257, 104, 130, "tanh"),
        Linear(700, 1544, 512, "relu"),
        Linear(9, 32, 10),
    ),
    "network": (
        Chain(tuple(nn.architecture("lenet5").problems(270)[:2])),
        Chain(
            (
                ("first", Conv2d(3, 1, 28, 28, 5, (5, 5), pool=_POOL)),
                ("second", Conv2d(3, 5, 12, 12, 16, (5, 5), pool=_POOL)),
            )
        ),
    ),
    "pool2d": (Pool2d(2, 3, 19, 24, Pool.of("max", 3, 2)), Pool2d(2, 2, 12, 20, _POOL)),
    "pool2d_winners": (
        Pool2dWinners(2, 3, 19, 24, _POOL),
        Pool2dWinners(2, 3, 9, 70, Pool.of("max", 3, 2)),
    ),
    "pool2d_gradient": (
        Pool2dGradient(2, 3, 19, 24, _POOL),
        Pool2dGradient(2, 3, 9, 70, Pool.of("average", 3, 2)),
    ),
    "conv2d_weights_gradient": (
        Conv2dWeightsGradient(3, 4, 40, 40, 16, (7, 7), pool=Pool.of("max", 4)),
        Conv2dWeightsGradient(3, 1, 86, 86, 4, (7, 7), pool=Pool.of("max", 2)),
        Conv2dWeightsGradient(9, 5, 14, 17, 9, (7, 7), (2, 3), (2, 1)),
        Conv2dWeightsGradient(9, 2, 28, 35, 7, (5, 5), padding=(2, 2), activation="relu"),
    ),
    "conv2d_input_gradient": (
        Conv2dInputGradient(3, 4, 40, 40, 16, (7, 7), pool=Pool.of("max", 4)),
        Conv2dInputGradient(3, 5, 21, 25, 19, (4, 5), pool=Pool.of("max", 3), before="relu"),
        Conv2dInputGradient(9, 5, 14, 17, 9, (7, 7), (2, 3), (2, 1)),
    ),
    "softmax": (Softmax(40, 130), Softmax(2, 3)),
    "softmax_gradient": (SoftmaxGradient(40, 130), SoftmaxGradient(2, 3)),
    "softmax_cross_entropy": (SoftmaxCrossEntropy(40, 130), SoftmaxCrossEntropy(2, 3, 2)),
    "loss_gradient": (
        LossGradient(40, 130, numbers=True),
        LossGradient(70, 3, "missed"),
        LossGradient(9, 1, "sigmoid_cross_entropy"),
    ),
    "activation_gradient": (ActivationGradient(70_003), ActivationGradient(5, "softplus")),
    "bias_activation": (
        BiasActivation(37, 41, "relu", bias=True),
        BiasActivation(1, 70_003, "softplus"),
    ),
    "dropout": (Dropout(70_003, 0.3, 2**40 + 5, 1, 3),),
    "linear_weights_gradient": (
        LinearWeightsGradient(300, 40, 70, 130),
        LinearWeightsGradient(9, 33, 5),
    ),
    "linear_cross_entropy": (
        LinearCrossEntropy(300, 32, 10, "relu", 1044, "relu", scaled=True),
        LinearCrossEntropy(9, 70, 25, "tanh", 2052, settled=True),
        LinearCrossEntropy(301, 512, 10, "relu"),
        LinearCrossEntropy(9, 301, 20, "relu", scaled=True),
    ),
    "optimiser_step": (
        OptimiserStep(70_003, decayed=50_000, steps=3),
        OptimiserStep(70_003, "adam", scaled=True),
    ),
    "gather_batch": (
        GatherBatch(5, 21, 2, 14, 12, 17, 20, shift=3, target_words=3, size=7, epoch=19),
        GatherBatch(4, 9, 1, 3, 25, 3, 25, floats=True, shift=2),
        GatherBatch(70, 90, 1, 28, 28, 86, 86, shift=2),
    ),
    "convert": (
        Convert(70_003),
        Convert(70_003, made="bfloat16"),
        Convert(70_003, "float16", "float32"),
        Convert(70_003, "bfloat16", "float32"),
        Convert(70_003, "uint8", "uint8"),
    ),
    "standardise": (Standardise(70_003), Standardise(3 * 5 * 1225, 1225, 3)),
    "most_likely": (MostLikely(3001, 10), MostLikely(70, 1)),
    "nearest_places": (NearestPlaces(3, 19, 24, Pool.of("max", 3, 2)),),
    "record_mean": (RecordMean(1003, 70),),
    "linear_gradient": (
        LinearGradient(300, 130, 40, "relu", "tanh"),
        LinearGradient(3, 5, 7, "sigmoid"),
    ),
    "reduce": (
        Reduce((70_001,)),
        Reduce((300, 4096), -1),
        Reduce((37, 1003), -1),
        Reduce((70_001,), None, "uint8"),
        Reduce((33, 96), -1, "uint8"),
        Reduce((300, 4096), 0),
        Reduce((9, 700, 3), 1, "float16"),
    ),
    "mlp_training": (
        MlpTraining(50, 3, 4, Neurons((4, 5, 5, 1), ("softmax", "relu", "tanh", "sigmoid"))),
    ),
    "argreduce": (
        Argreduce((70_001,)),
        Argreduce((300, 4096), -1),
        Argreduce((37, 1003), 0),
    ),
    "segmented_reduce": (SegmentedReduce(70_001, 900), SegmentedReduce(3000, 5000)),
    "scan": (
        Scan((70_001,)),
        Scan((300, 1003), -1, "uint8"),
        Scan((5, 200, 72), 1, "float16"),
        Scan((40_000,), exclusive=True, reverse=True),
    ),
    "segmented_scan": (
        SegmentedScan(70_001, 300),
        SegmentedScan(7001, 9001, exclusive=True, index="int32"),
    ),
    "transpose": (
        Transpose((300, 4096)),
        Transpose((513, 513)),
        Transpose((3, 200, 200), (0, 2, 1)),
        Transpose((136, 264), dtype="float16"),
        Transpose((136, 136), dtype="uint8"),
        Transpose((34, 66), dtype="float64"),
        Transpose((3, 5, 7, 9), (2, 0, 3, 1)),
    ),
    "grayscale": (Grayscale(37, 101), Grayscale(64, 256), Grayscale(1, 1)),
    "histogram": (
        Histogram(70_001),
        Histogram(5003, 64, 0.0, 300.0),
        Histogram(4099, 64),
        Histogram(20_000, 256, 0.0, 1.0, "float32"),
        Histogram(70_001, 2**17, 0.0, 2e5, "int32"),
        Histogram(3001, 33, 0.0, 10.0, "float32", edges=True),
        Histogram(9000, 33, -5.0, 5.0, "float32", weighted=True),
    ),
    "box_blur": (
        BoxBlur(300, 700, 5),
        BoxBlur(67, 131, 7, 3),
        BoxBlur(67, 132, 20),
        BoxBlur(3, 5, 2),
        BoxBlur(301, 1024, 5),
    ),
    "permute_columns": (
        PermuteColumns(70, 300, 300),
        PermuteColumns(33, 7, 100, "uint8"),
        PermuteColumns(3000, 64, 64, "float64"),
    ),
    "rotate": (Rotate((256,)), Rotate((70_001,), 5), Rotate((70, 301), -7, "uint8")),
    "elementwise": (
        Elementwise("add", (70_003,)),
        Elementwise("add", (4099,), "int32"),
        Elementwise("axpy", (33, 7), "float64"),
        Elementwise("scale", (2**20,)),
    ),
    "conv1d": (
        Conv1d(70_001, 31),
        Conv1d(4096, 8, "replicate", 2, 3, 5, 3),
        Conv1d(999, 63, "valid"),
        Conv1d(5, 9, "interior"),
    ),
    "separable": (
        Separable(150, 300, (5, 5)),
        Separable(61, 77, (4, 31), "replicate", 3, 3),
        Separable(64, 256, (17, 3), "valid"),
    ),
    "conv3d": (
        Conv3d(9, 37, 136, (3, 3, 3)),
        Conv3d(9, 20, 75, (5, 5, 5), "valid"),
        Conv3d(6, 9, 35, (2, 3, 4), "zero", 2, 3, 2, "batch"),
    ),
    "stencil": (
        Stencil((9, 70, 136), 7, 7),
        Stencil((12, 20, 61), 27, 3, "valid"),
        Stencil((11, 20, 68), 25),
        Stencil((70, 141), 9, 5),
    ),
    "matmul": (
        Matmul(300, 520, 140),
        Matmul(64, 128, 192),
        Matmul(37, 105, 51, True, True),
        Matmul(3, 1000, 260),
        Matmul(3, 1000, 260, False, True),
        Matmul(1100, 520, 1100),
    ),
    "matvec": (
        Matvec(300, 1000),
        Matvec(300, 1000, True),
        Matvec(37, 101),
        Matvec(37, 101, True),
    ),
    "compact": (
        Compact(70_001),
        Compact(5003, ordered=False),
        Compact(3001, "uint8", share=0.9),
        Compact(4099, "float64", ordered=False),
    ),
    "equalize": (Equalize(67, 131), Equalize(33, 65, 1), Equalize(64, 256)),
    "scatter": (
        Scatter(3001, 97),
        Scatter(501, 97, "subtract"),
        Scatter(501, 97, "exchange", "float64"),
        Scatter(501, 97, "max", "int64", "int64"),
        Scatter(501, 97, "multiply", "float64"),
        Scatter(501, 97, "min", "float32"),
        Scatter(501, 97, "add", "float32"),
    ),
    "sort": (
        Sort((70_001,)),
        Sort((2, 1301), gives="pairs", moves="float32"),
        Sort((1500,), dtype="int64"),
        Sort((2, 70, 3), 1, "bfloat16", "places"),
        Sort((9001,), dtype="uint8", gives="places"),
    ),
    "unique": (Unique(20_011), Unique(64, "uint8"), Unique(3001, "float64")),
    "partition": (Partition(20_011), Partition(64, "uint8"), Partition(3001, "int64")),
    "spmv": (
        Spmv(301, 157, 1400),
        Spmv(301, 157, 1400, "csr", "float16", "int64", True),
        Spmv(301, 157, 1400, "coo"),
        Spmv(301, 157, 1400, "csc"),
        Spmv(301, 157, 1400, "jds"),
        Spmv(301, 157, 1400, "ell", width=20),
        Spmv(301, 157, 1400, "hybrid", width=6, tail=100),
        Spmv(301, 157, 1400, "jds_t", "float64", width=40),
        Spmv(301, 157, 1400, "dia", width=7),
        Spmv(301, 157, 1400, "bsr", width=60, block=4),
    ),
    "spmm": (Spmm(101, 57, 900, 37), Spmm(70, 50, 400, 5, "float64"), Spmm(61, 50, 700, 150)),
}


def launches(
    wanted: list[str], part: int = 1, parts: int = 1
) -> Iterator[tuple[GpuStrategy, Problem, bool]]:
    """Rung, problem, and whether infinities are among the inputs."""
    rungs = [(name, of_launches(rung)) for name in PROBLEMS for rung in ladder(name, "cuda")]
    for operation, rung in rungs[part - 1 :: parts]:
        if wanted and not rung.name.startswith(tuple(wanted)):
            continue
        possible = needed(rung, PROBLEMS[operation])
        taken = [problem for problem in possible if rung.why_not(problem) is None]
        for problem in taken:
            yield rung, problem, False
            if rung.stores:
                # All that it takes stored otherwise, as far as the problem has it.
                stored, _ = stored_by(rung, problem, dict.fromkeys(rung.stores, 1))
                if stored != problem and rung.runs(stored):
                    yield rung, stored, False
        for problem in taken[:1]:
            yield rung, problem, True


def launch(device: GpuDevice, rung: GpuStrategy, problem: Any, special: bool) -> None:
    values, count = problem.random(0), len(problem.input_arrays)
    if special:
        for array in values[:count]:
            if array.dtype.kind == "f":
                array.reshape(-1)[:: array.size // 7 + 1] = np.inf
    bound = rung.bind(problem, values[count:], device)
    bound(*values[:count], *(np.empty(o.shape, o.numpy) for o in problem.output_arrays))


def stream() -> int:
    """Several segments of uint8 images, the last one shorter."""
    plan: Any = nn.load("lenet5").plan(batch=100, precision="fp16", device="cuda")
    images = plan.stream.pinned((230, 86, 86))
    images[...] = np.random.default_rng(0).integers(0, 256, images.shape)
    plan.stream.classify(images, segments=4)
    return 1


def products(device: GpuDevice) -> int:
    """The milestones' products in every variant, each once or a few times; how many there are."""
    log, chosen = Log(), variants()
    with device.on():
        MeasuredLayer(log, device, Layer("layer 2", 2, 13, 5), 5, 0).run(chosen, 0.0)
    return len(chosen)


def training() -> int:
    """Some steps at each precision, enough images for every rung that keeps winners; and at TF32
    for what reads images of float16."""
    generator = np.random.default_rng(0)
    for precision, batch in (("ieee", 160), ("tf32", 800), ("bf16", 160), ("fp16", 160)):
        images = generator.integers(0, 256, (2 * batch, 28, 28), np.uint8)
        labels = generator.integers(0, 10, 2 * batch)
        # Without dropout the last two layers are one launch.
        dropout = 0.1 if precision == "ieee" else 0.0
        options = TrainingOptions(epochs=1, batch=batch, precision=precision, dropout=dropout)
        train(nn.architecture("lenet5"), images, labels, options, device="cuda")
    return 1


def matrices(place: Any = "cuda") -> int:
    """A matrix whose sizes no block divides from each format to each, and solutions with it."""
    size, count = 157, 0
    every = np.arange(size)
    near = (np.abs(every[:, None] - every) == 3) | (np.abs(every[:, None] - every) == 30)
    dense = np.where(near, -1, 0).astype(np.float32) + 5 * np.eye(size, dtype=np.float32)
    for first, second in itertools.permutations(FORMS, 2):
        made = rooftile.sparse(dense).to(first, device=place).to(second, device=place)
        assert all(len(array) for array in made.arrays.values())
        count += 1
    b = np.ones(size, np.float32)
    for form, preconditioner in itertools.product(("csr", "dia"), ("jacobi", None)):
        matrix: Any = rooftile.sparse(dense, form)
        assert rooftile.cg(matrix, b, preconditioner=preconditioner, device=place).converged
        count += 1
    return count


def others(device: GpuDevice) -> dict[str, Callable[[], int]]:
    """What is no rung, by its word: it says how many it launched."""
    return {
        "stream": stream,
        "products": lambda: products(device),
        "training": training,
        "matrices": matrices,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--part", default="1/1", metavar="K/N")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    wanted, count = given.words, 0
    device = open_gpu("cuda")
    architecture = device.description.architecture
    for rung, problem, special in launches(wanted, part, parts):
        if rung.why_not_on(architecture) is None:
            launch(device, rung, problem, special)
            count += 1
    for word, run in list(others(device).items())[part - 1 :: parts]:
        if not wanted or word in wanted:
            count += run()
    print(f"{count} launched on {device.description.name}")


if __name__ == "__main__":
    main()
