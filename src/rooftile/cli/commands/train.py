r"""Train a network and write its weights.

A checkpoint next to the result is replaced after every epoch and when Ctrl-C stops the run;
--resume goes on from it and ends with the weights of a run that never stopped. No file is replaced
that this run did not make, unless --overwrite says so.

MODEL mlp is fully connected layers over a table of numbers with a label in each row:

  rooftile train mlp --hidden 4,5,5 --activations softmax,relu,tanh --output sigmoid \
    --learning-rate 0.01 --epochs 1000 --data train.csv --test test.csv
"""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._options import positive
from rooftile.cli.commands._train_mlp import add_mlp_arguments, train_mlp
from rooftile.cli.render.networks import check_channels, download_report, percent_of
from rooftile.cli.render.output import Output, Say
from rooftile.cli.render.training import (
    checkpoint_of,
    epochs_json,
    opened_meanwhile,
    out_of,
    profile_json,
    profile_of,
    profile_sheet,
    progress_bar,
)

if TYPE_CHECKING:
    from rooftile.nn import Network
    from rooftile.nn.data import ImageSet
    from rooftile.nn.training import Progress, TrainingOptions

_OPTIONS = {
    "epochs": (int, "passes over the data"),
    "batch": (int, "items a step"),
    "learning_rate": (float, "the largest; the schedule lowers it"),
    "momentum": (float, "of sgd, and of adam's mean gradient"),
    "weight_decay": (float, "share of each weight that a step takes off, times the rate"),
    "shift": (int, "move images by up to this number of pixels, at random; default 1"),
    "holdout": (int, "keep the last N items out, and classify them after each epoch"),
    "patience": (int, "stop after N epochs without a smaller loss on those, keep the best weights"),
    "dropout": (float, "share of each layer's outputs that a step leaves out"),
    "init": (
        str,
        "how first weights are drawn: glorot, kaiming_uniform, he or lecun; default: as the "
        "network's layers say, or glorot",
    ),
    "last_scale": (float, "the first weights of the last layer are multiplied by this; default 1"),
}
"""Options of the run by their field's name: type and meaning; defaults are the library's."""
_SHIFT = 1
"""Pixels that images of files are moved by, unless the command line says otherwise."""
_COUNT, _SIZE = 60_000, (28, 28)
"""Training images of Fashion-MNIST, and their pixels."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("model", metavar="MODEL", help="lenet5, mnist8, a safetensors file, or mlp")
    where = "the directory of the image files; of mlp the table, CSV or NPZ"
    parser.add_argument("--data", type=Path, metavar="DIR|FILE", help=where)
    parser.add_argument("--download", action="store_true", help="fetch the images if not found")
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="only the first N training images"
    )
    parser.add_argument(
        "--optimizer", "--optimiser", metavar="sgd|adam", help="default adam; of mlp sgd"
    )
    parser.add_argument("--schedule", metavar="cosine|step|constant", help="default cosine")
    parser.add_argument(
        "--precision", metavar="ieee|tf32|bf16|fp16", help="of a CUDA device's layers; default ieee"
    )
    parser.add_argument(
        "--data-memory",
        type=positive,
        metavar="MB",
        help="of a GPU that images may take, else they are streamed; default half of it",
    )
    parser.add_argument("--flip", action="store_true", help="mirror every second image, at random")
    for name, (kind, meaning) in _OPTIONS.items():
        metavar = {int: "N", float: "X", str: "NAME"}[kind]
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=meaning)
    out = "default: MODEL, where it is a file, else MODEL.safetensors"
    parser.add_argument("--out", type=Path, metavar="FILE", help=out)
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a file that this run did not make"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on from the checkpoint, also to more epochs"
    )
    parser.add_argument("--profile", action="store_true", help="tell where the time goes")
    add_mlp_arguments(parser)


def command(arguments: argparse.Namespace) -> int:
    """Train, record, save, print.  Exit code 0."""
    # Python's modules are imported, and images read, while a GPU is opened and its compiler works.
    with opened_meanwhile(arguments.device) as behind:
        output = Output(arguments)
        if arguments.model == "mlp":
            return train_mlp(arguments, output, _given(arguments))
        with output.working("loading the images") as say, ThreadPoolExecutor(2, "read") as pool:
            reading = partial(_reading, arguments, say, pool)
            # A download waits until the rest is known to be right.
            begun = None if arguments.download else reading()
            from rooftile.nn import MODELS, load

            model = arguments.model
            network = MODELS[model] if model in MODELS else load(model)
            out = out_of(arguments, network.name)
            options = _options(arguments.seed, _given(arguments))
            behind(partial(_compile_ahead, arguments, network, options, begun))
            images, test = (one.result() for one in begun or reading())
        check_channels(network, images)
        check_channels(network, test)
        output.show(f"training {network.name} on {images.source}, {len(images):,} images")
        return _train(arguments, output, network, options, images, test, out, behind)


def _reading(
    arguments: argparse.Namespace, say: Say, pool: ThreadPoolExecutor
) -> tuple[Future[ImageSet], Future[ImageSet]]:
    """The images to train on and those to test with, once other threads have read them."""
    from rooftile.nn.data.fashion import load_images

    data, report = (arguments.data, arguments.download), download_report(say)
    images = pool.submit(load_images, "train", data[0], arguments.limit, data[1], report)
    return images, pool.submit(load_images, "test", data[0], None, data[1], report)


def _compile_ahead(
    arguments: argparse.Namespace,
    network: Network,
    options: TrainingOptions,
    reading: Sequence[Future[ImageSet]] | None,
) -> None:
    """Compile what a training with images like Fashion-MNIST's takes, which most are, unless these
    have been read: then the training compiles by itself."""
    from rooftile.nn.training.gpu.ahead import compile_ahead

    if _compiles(arguments) and not (reading and reading[0].done()):
        count = max(1, (arguments.limit or _COUNT) - options.holdout)
        compile_ahead(network, options, arguments.device, count, _SIZE)


def _ready_to_end(
    arguments: argparse.Namespace, network: Network, options: TrainingOptions, test: ImageSet
) -> None:
    """Compile and import for the steps after the training."""
    from rooftile.devices.cuda.compile import has_compiled
    from rooftile.nn.training.gpu.ahead import compile_outputs_ahead

    if arguments.json:
        _environment()
    # Where the training's kernels were kept, those are too.
    if _compiles(arguments) and has_compiled():
        given = len(test), test.images.shape[1:]
        compile_outputs_ahead(network, options, arguments.device, *given)


def _compiles(arguments: argparse.Namespace) -> bool:
    """True if compiled programs are found again: OpenCL's drivers keep them for one process
    alone."""
    from rooftile.devices.names import parse_device

    return parse_device(arguments.device)[0] == "cuda"


def _environment() -> dict[str, Any]:
    """The environment as plain values; the modules that tell it are imported once."""
    import dataclasses

    from rooftile.lab.measure.environment import environment
    from rooftile.lab.measure.records import plain

    made: dict[str, Any] = plain(dataclasses.asdict(environment()))
    return made


def _train(
    arguments: argparse.Namespace,
    output: Output,
    network: Network,
    options: TrainingOptions,
    images: ImageSet,
    test: ImageSet,
    out: Path,
    behind: Callable[[Callable[[], object]], object],
) -> int:
    from rooftile.nn.training import train, with_record

    profile, start = profile_of(arguments.profile), time.perf_counter()
    ends: list[Progress] = []
    with progress_bar(output, options, len(images) - options.holdout) as advance:

        def each_step(progress: Progress) -> None:
            if progress.step == progress.steps:
                if not ends:
                    # Sooner it would disturb the first steps, whose ways to start are tried.
                    behind(partial(_ready_to_end, arguments, network, options, test))
                ends.append(progress)
            advance(progress)

        trained = train(
            network,
            images.images,
            images.labels,
            options,
            checkpoint=checkpoint_of(out),
            resume=arguments.resume,
            progress=each_step,
            phases=profile,
            device=arguments.device,
            data_memory=arguments.data_memory and arguments.data_memory * 10**6,
        )
    seconds = time.perf_counter() - start
    words, source = _command_line(arguments), f"{images.source}, {len(images)} images"
    recorded = with_record(trained, words, options, source, test, arguments.device)
    recorded.save(out)
    loss = ends[-1].loss if ends else None
    extra: dict[str, Any] = {"epochs": epochs_json(ends)}
    extra |= {} if profile is None else {"profile": profile_json(profile)}
    _finish(arguments, output, recorded, options, images, test, (loss, seconds), out, extra)
    if profile is not None:
        output.show(profile_sheet(profile))
    return 0


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that the command line sets, by their field's name."""
    given = {name: getattr(arguments, name) for name in _OPTIONS}
    given |= {"optimizer": arguments.optimizer, "schedule": arguments.schedule}
    given["precision"] = arguments.precision
    given["flip"] = arguments.flip or None
    return {name: value for name, value in given.items() if value is not None}


def _options(seed: int, given: dict[str, Any]) -> TrainingOptions:
    from rooftile.nn.training import TrainingOptions

    return TrainingOptions(seed=seed, **{"shift": _SHIFT, **given})


def _command_line(arguments: argparse.Namespace) -> str:
    """The command that makes these weights again, wherever the files lie."""
    given = _given(arguments)
    words = ["rooftile", "train", arguments.model, "--seed", str(arguments.seed)]
    if arguments.limit is not None:
        given = {"limit": arguments.limit, **given}
    if arguments.device != "cpu":
        given = {"device": arguments.device, **given}
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        words += [flag] if value is True else [flag, str(value)]
    return shlex.join(words)


def _finish(
    arguments: argparse.Namespace,
    output: Output,
    network: Network,
    options: TrainingOptions,
    images: ImageSet,
    test: ImageSet,
    measured: tuple[float | None, float],
    out: Path,
    extra: dict[str, Any],
) -> None:
    (loss, seconds), record = measured, network.metadata
    accuracies = {
        int(key.rpartition("_")[2]): float(value)
        for key, value in record.items()
        if key.startswith("accuracy_")
    }
    if arguments.json:
        told = {"loss": loss, "accuracy": accuracies, "seconds": seconds, "out": str(out), **extra}
        _tell(arguments, output, network, options, images, test, told)
    output.show(
        f"trained in {seconds:.0f} s; wrote {out}",
        *(
            f"accuracy on the first {count:,} test images: {percent_of(value)}"
            for count, value in sorted(accuracies.items())
        ),
        f"test images: {test.source}",
    )


def _tell(
    arguments: argparse.Namespace,
    output: Output,
    network: Network,
    options: TrainingOptions,
    images: ImageSet,
    test: ImageSet,
    told: dict[str, Any],
) -> None:
    """Print the JSON object."""
    from rooftile.lab.measure.records import plain

    what = {"model": network.name, "device": arguments.device}
    what |= {"options": options.to_json(), "images": len(images)}
    where = {**_environment(), "data": images.source, "test_data": test.source}
    output.result(plain({**what, **told, "environment": where}))
