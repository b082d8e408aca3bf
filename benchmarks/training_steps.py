"""Times of a training step on a GPU, beside PyTorch's in the same process.

    python benchmarks/training_steps.py --networks lenet5 mnist8 --batches 64 1024 --write FILE

A step is a forward pass, the loss, a backward pass and SGD with momentum, as one captured graph on
both sides.  Ours gathers and prepares its images on the device besides.  Before it is timed, its
gradients are compared with PyTorch's in float64; where a precision rounds, they may be off twice as
far as PyTorch's own are at that precision: its ``allow_tf32``, its autocast; both over several
batches where these are small.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rooftile import nn
from rooftile.devices.select import open_gpu
from rooftile.lab.measure.ceilings.gpu import gpu_ceilings
from rooftile.nn.training.gpu.resident import Resident
from rooftile.nn.training.gpu.step import TOGETHER, TrainingStep
from rooftile.nn.training.optimisers import LOSS_SCALE
from rooftile.nn.training.options import TrainingOptions

_REPLAYS, _ROUNDS, _STEPS = 3 * TOGETHER, 7, 40
_TOLERANCE = 1e-4
"""Of a gradient's norm."""
_ROUNDED = 2
"""So many times PyTorch's own distance a rounded step may be off: both are drawn at random, since a
gradient jumps where another element of a window becomes the largest."""
_DRAWS, _DRAWN = 4, 4096
"""Of few images one draw tells little: so many batches are compared, of so many images in all."""


def torch_network(network: nn.Network) -> Any:
    """The network as PyTorch's modules, with its parameters."""
    from torch import nn as layers

    from rooftile.strategies.common.torch_layers import filled

    modules: list[Any] = []
    layers_of: list[tuple[str, Any]] = list(network.problems(1))
    for name, problem in layers_of:
        parameters = network.parameters_of(name)
        if problem.operation == "conv2d":
            conv = layers.Conv2d(
                problem.channels, problem.maps, problem.mask, problem.stride, problem.padding
            )
            modules.append(filled(conv, parameters))
        else:
            if not any(isinstance(module, layers.Flatten) for module in modules):
                modules.append(layers.Flatten())
            modules.append(filled(layers.Linear(problem.inputs, problem.outputs), parameters))
        modules += [layers.ReLU()] * (problem.activation == "relu")
        pool = getattr(problem, "pool", None)
        modules += [layers.MaxPool2d(pool.window, pool.stride)] if pool else []
    return layers.Sequential(*modules)


def torch_gradients(
    network: nn.Network, x: Any, labels: Any, precision: str | None = None
) -> dict[str, Any]:
    """The gradients of the mean loss, in float64, or as PyTorch finds them at a precision.

    Its convolutions are those that cuDNN's rules pick: a search among them by time, as the timed
    steps have it, picks others in another process or behind other rows, and errors differ.
    """
    import torch

    model, images = torch_network(network).cuda(), torch.tensor(x, device="cuda")
    if precision is None:
        model, images = model.double(), images.double()
    picked = torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True)
    with picked, rounding(precision or "ieee"):
        scores = model(images)
        torch.nn.functional.cross_entropy(scores, torch.tensor(labels, device="cuda")).backward()
    found = [parameter.grad.cpu().numpy() for parameter in model.parameters()]
    return dict(zip(network.parameter_shapes, found, strict=True))


@contextlib.contextmanager
def rounding(precision: str) -> Iterator[None]:
    """PyTorch at a precision."""
    import torch

    tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    narrow = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    # Its cache of rounded weights would outlive a captured step.
    with torch.autocast("cuda", narrow, enabled=narrow is not None, cache_enabled=False):
        yield


def torch_step(network: nn.Network, x: Any, labels: Any, precision: str) -> Any:
    """PyTorch's step as a graph."""
    import torch

    model = torch_network(network).cuda()
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, foreach=True)
    images, right = torch.tensor(x, device="cuda"), torch.tensor(labels, device="cuda")

    def step() -> None:
        optimiser.zero_grad(set_to_none=False)
        with rounding(precision):
            loss = torch.nn.functional.cross_entropy(model(images), right)
            loss.backward()
        optimiser.step()

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def our_step(
    network: nn.Network, data: Any, labels: Any, batch: int, precision: Any
) -> tuple[Resident, TrainingStep]:
    """Our step on resident data."""
    options = TrainingOptions(batch=batch, optimizer="sgd", shift=0, precision=precision)
    held = Resident(network, data, labels, options, open_gpu("cuda"), precision)
    held.load("parameters", network.parameters)
    rates = np.tile(np.array([1e-4, 1, 1, 0], np.float32), (len(data) // batch, 1))
    order = np.arange(len(data))
    held.begin_epoch(order, np.zeros(len(data), np.int32), rates, 0)
    return held, TrainingStep(network, held, batch)


def off(
    network: nn.Network, held: Resident, step: TrainingStep, data: Any, labels: Any
) -> tuple[float, float]:
    """How far the first step's gradients are from PyTorch's in float64, of the norm of each, and
    how far PyTorch's own are that round as ours do: zero where none do."""
    step()
    found = {key: np.zeros(s, np.float32) for key, s in network.parameter_shapes.items()}
    held.fetch("gradients", found)
    if held.scaling is not None:
        found = {key: value / LOSS_SCALE for key, value in found.items()}
    x = network.prepare(data)
    right = torch_gradients(network, x, labels)
    if held.precision == "ieee":
        return distance(found, right), 0.0
    peer = torch_gradients(network, x, labels, held.precision)
    return distance(found, right), distance(peer, right)


def distance(found: dict[str, Any], right: dict[str, Any]) -> float:
    """The largest distance of a gradient, of its norm."""
    norm = np.linalg.norm
    return max(float(norm(found[k] - right[k]) / norm(right[k])) for k in right)


def replays(held: Resident, step: TrainingStep) -> float:
    """Milliseconds of one step, in a row of them as a training starts them."""
    several = step.several
    starts = [step] * _REPLAYS if several is None else [several] * (_REPLAYS // TOGETHER)
    with held.gpu.timer() as elapsed:
        for start in starts:
            start()
    return float(elapsed.milliseconds) / _REPLAYS


def torch_replays(graph: Any) -> float:
    """The same of PyTorch's."""
    import torch

    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    before.record()
    for _ in range(_REPLAYS):
        graph.replay()
    after.record()
    torch.cuda.synchronize()
    return float(before.elapsed_time(after)) / _REPLAYS


def _several(start: Callable[[], object], times: int) -> None:
    for _ in range(times):
        start()


def parts(held: Resident, step: TrainingStep) -> list[dict[str, Any]]:
    """Microseconds of each of the step's launches, alone in a graph of a few of them, and those
    that the FLOPs of an operation allow, and the bytes of its arrays as they lie."""
    found, ceilings = [], gpu_ceilings(held.gpu)
    for one in step.starts:
        repeated = held.gpu.captured(partial(_several, one.start, 8))
        repeated()
        with held.gpu.timer() as elapsed:
            repeated()
        part = {"name": one.name, "layer": one.layer, "us": 125 * float(elapsed.milliseconds)}
        if one.problem is not None:
            compute = one.problem.flops / ceilings.rate_gflops(held.precision)
            part["floor_us"] = max(compute, one.bytes / ceilings.bandwidth_gbps) * 1e-3
        found.append(part)
    return found


def _rms(values: list[float]) -> float:
    """The root of the mean of squares."""
    return float(np.sqrt(np.mean(np.square(values))))


def row(name: str, batch: int, precision: str, *, peer: bool) -> dict[str, Any]:
    """One network, batch and precision: verified, then timed in turns."""
    network = nn.architecture(name).initialise(0)
    ours, theirs = [], []
    for seed in range(1, 1 + max(1, min(_DRAWS, _DRAWN // batch))):
        generator = np.random.default_rng(seed)
        some = generator.integers(0, 256, (batch, 28, 28), dtype=np.uint8)
        labels = generator.integers(0, 10, batch)
        # The batch many times over: an epoch is longer than what is timed in a row.
        many = np.tile(some, (_STEPS, 1, 1)), np.tile(labels, _STEPS)
        held, step = our_step(network, *many, batch, precision)
        mine, other = off(network, held, step, some, labels)
        ours.append(mine)
        theirs.append(other)
    # Where nothing is rounded, one batch may hold a sum so near to zero that float32 cannot tell
    # its sign.
    wrong = statistics.median(ours) if precision == "ieee" else _rms(ours)
    most = _TOLERANCE + _ROUNDED * _rms(theirs)
    found: dict[str, Any] = {"network": name, "batch": batch, "precision": precision}
    found |= {"off": wrong}
    if not wrong <= most:
        return found | {"reason": f"a gradient is off by {wrong:.1e}, {most:.1e} at most"}
    zero = np.zeros(1, np.int32)
    graph = torch_step(network, network.prepare(some), labels, precision) if peer else None
    ours, theirs = [], []
    for _ in range(_ROUNDS):
        held.gpu.copy_in(zero, held.step)
        ours.append(replays(held, step))
        theirs += [torch_replays(graph)] if graph else []
    found |= {"ours_ms": statistics.median(ours), "launches": len(step.starts)}
    found["together"] = 1 if step.several is None else TOGETHER
    found |= {"torch_ms": statistics.median(theirs)} if theirs else {}
    held.gpu.copy_in(zero, held.step)
    return found | {"parts": parts(held, step)}


def main() -> None:
    """Print a line a row, and write all that was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="+", default=["lenet5", "mnist8"])
    parser.add_argument("--batches", nargs="+", type=int, default=[64, 256, 1024, 8192])
    parser.add_argument("--precisions", nargs="+", default=["ieee", "tf32", "bf16", "fp16"])
    parser.add_argument("--alone", action="store_true", help="without PyTorch's times")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    import torch

    torch.backends.cudnn.benchmark = True
    found = []
    given = arguments.networks, arguments.batches, arguments.precisions
    for name, batch, precision in itertools.product(*given):
        found.append(row(name, batch, precision, peer=not arguments.alone))
        print(json.dumps({k: v for k, v in found[-1].items() if k != "parts"}), flush=True)
        if arguments.write is not None:
            arguments.write.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
