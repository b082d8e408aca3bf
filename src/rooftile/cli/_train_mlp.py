"""`rooftile train mlp`: fully connected layers over a table, by default with a step a row."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._network import percent_of
from rooftile.cli._output import Output
from rooftile.cli._tables import Sheet
from rooftile.cli._training import (
    epochs_json,
    profile_json,
    profile_of,
    profile_sheet,
    progress_bar,
)

if TYPE_CHECKING:
    from rooftile.nn import Network
    from rooftile.nn.data import Standardisation, Table
    from rooftile.nn.training import Progress, TrainingOptions
    from rooftile.nn.training.scores import Scores

_DEFAULTS: dict[str, Any] = {
    "batch": 1,
    "optimizer": "sgd",
    "momentum": 0.0,
    "schedule": "constant",
    "learning_rate": 0.01,
    "epochs": 1000,
    "loss": "half_squared_error",
}
"""Of the run, where the command line does not say otherwise."""
_SHOWN = 20
"""So many epochs' losses are printed."""


def add_mlp_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that only `mlp` has."""
    group = parser.add_argument_group("of mlp")
    group.add_argument("--hidden", default="4,5,5", metavar="N,N", help="neurons of hidden layers")
    group.add_argument(
        "--activations", metavar="NAME,NAME", help="of the hidden layers (default: tanh of each)"
    )
    group.add_argument(
        "--output", default="sigmoid", metavar="NAME", help="the last layer's (default sigmoid)"
    )
    group.add_argument("--test", type=Path, metavar="FILE", help="the table that is judged on")
    group.add_argument("--loss", metavar="NAME", help="default half_squared_error")
    group.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    group.add_argument("--delimiter", default=",", metavar="C", help="between columns of a CSV")
    group.add_argument("--header", action="store_true", help="the first line has names")
    group.add_argument(
        "--label", default="-1", metavar="N|NAME", help="the label's column (default: the last)"
    )
    group.add_argument("--raw", action="store_true", help="do not standardise the features")


def train_mlp(arguments: argparse.Namespace, output: Output, given: dict[str, Any]) -> int:
    """Train, judge, save, print.  Exit code 0."""
    from rooftile.nn.data import Standardisation
    from rooftile.nn.training import TrainingOptions, predict, train
    from rooftile.nn.training.scores import Scores

    tables = _tables(arguments)
    table, test = tables[0], tables[-1]
    classes = max(part.classes for part in tables)
    network = _network(arguments, table.features.shape[1], classes)
    chosen = {**_DEFAULTS, **given, "dtype": arguments.dtype}
    chosen |= {"loss": arguments.loss} if arguments.loss else {}
    options = TrainingOptions(seed=arguments.seed, **chosen)
    trained_on = table.features[: len(table) - options.holdout]
    standardise = None if arguments.raw else Standardisation.of(trained_on)
    out: Path = arguments.out or Path("mlp.safetensors")
    losses: list[Progress] = []
    output.show(f"training {network.name} on {table.source}, {len(table):,} rows")
    profile, start = profile_of(arguments.profile), time.perf_counter()
    with progress_bar(output, options, len(table) - options.holdout, "rows") as advance:

        def each_step(progress: Progress) -> None:
            if progress.step == progress.steps:
                losses.append(progress)
            advance(progress)

        trained = train(
            network,
            _features(table, standardise),
            table.labels,
            options,
            checkpoint=out.with_name(f"{out.name}.checkpoint"),
            resume=arguments.resume,
            progress=each_step,
            phases=profile,
            device=arguments.device,
            data_memory=arguments.data_memory and arguments.data_memory * 10**6,
        )
    seconds = time.perf_counter() - start
    predicted = predict(trained, _features(test, standardise))
    scores = Scores.of(test.labels, predicted, classes)
    trained = _recorded(trained, options, standardise, scores)
    trained.save(out)
    _show(output, losses, scores, test, seconds, out)
    extra: dict[str, Any] = {} if profile is None else {"profile": profile_json(profile)}
    extra |= {"device": arguments.device, "epochs": epochs_json(losses)}
    _result(output, trained, options, losses, scores, seconds, out, extra)
    if profile is not None:
        output.show(profile_sheet(profile))
    return 0


def _tables(arguments: argparse.Namespace) -> list[Table]:
    """What is trained on, and what is judged on where it is another table."""
    from rooftile.errors import InputError
    from rooftile.nn.data import read_table

    if arguments.data is None:
        raise InputError("--data", "nothing", "a table: a CSV or an NPZ file")
    text = arguments.label
    label = int(text) if text.removeprefix("-").isdigit() else text
    paths = [path for path in (arguments.data, arguments.test) if path is not None]
    words = {"delimiter": arguments.delimiter, "header": arguments.header, "label": label}
    tables = [read_table(path, **words) for path in paths]
    labels = tables[0].labels
    if (labels == labels[0]).all():
        raise InputError("--data", f"labels that are all {labels[0]}", "two classes at least")
    widths = [table.features.shape[1] for table in tables]
    if widths[0] != widths[-1]:
        raise InputError("--test", f"{widths[-1]} features", f"{widths[0]}, as --data has")
    return tables


def _network(arguments: argparse.Namespace, features: int, classes: int) -> Network:
    """The layers that the arguments name."""
    from rooftile.errors import InputError
    from rooftile.nn import LinearLayer, Network

    words = [word for word in arguments.hidden.split(",") if word]
    if not all(word.isdigit() and int(word) for word in words):
        raise InputError("--hidden", arguments.hidden, "numbers of neurons, as in 4,5,5")
    names = arguments.activations.split(",") if arguments.activations else ["tanh"] * len(words)
    if len(names) != len(words):
        found = f"{len(names)} names for {len(words)} layers"
        raise InputError("--activations", found, "one for each hidden layer")
    layers = [
        LinearLayer(f"hidden{number}", int(word), name)
        for number, (word, name) in enumerate(zip(words, names, strict=True), 1)
    ]
    outputs = 1 if classes <= 2 and arguments.output != "softmax" else classes
    layers.append(LinearLayer("output", outputs, arguments.output))
    return Network("mlp", features, layers)


def _features(table: Table, standardise: Standardisation | None) -> Any:
    return table.features if standardise is None else standardise(table.features)


def _recorded(
    network: Network,
    options: TrainingOptions,
    standardise: Standardisation | None,
    scores: Scores,
) -> Network:
    """The network with metadata on its making."""
    import json

    metadata = {
        "seed": str(options.seed),
        "options": json.dumps(options.to_json(), sort_keys=True),
        "accuracy": f"{scores.accuracy:.6f}",
    }
    if standardise is not None:
        numbers = {
            "mean": standardise.mean.tolist(),
            "deviation": standardise.deviation.tolist(),
        }
        metadata["standardisation"] = json.dumps(numbers)
    return network.with_parameters(network.parameters, metadata)


def _show(
    output: Output,
    losses: list[Progress],
    scores: Scores,
    test: Table,
    seconds: float,
    out: Path,
) -> None:
    every = max(1, -(-len(losses) // _SHOWN))
    epochs = Sheet("epoch", "loss", "held-out loss", numbers=("epoch", "loss", "held-out loss"))
    for progress in losses:
        if progress.epoch % every == 0 or progress.epoch in (1, len(losses)):
            held = "" if progress.holdout_loss is None else f"{progress.holdout_loss:.6g}"
            epochs.add_row(str(progress.epoch), f"{progress.loss:.6g}", held)
    labels = range(len(scores.confusion))
    headings = [f"predicted {label}" for label in labels]
    table = Sheet(
        "actual", *headings, "precision", "recall", numbers=(*headings, "precision", "recall")
    )
    for label in labels:
        shares = (scores.precision(label), scores.recall(label))
        counts = map(str, scores.confusion[label])
        table.add_row(str(label), *counts, *("-" if s is None else percent_of(s) for s in shares))
    output.show(epochs, f"{test.source}, {scores.total:,} rows:", table)
    output.show(
        f"accuracy {percent_of(scores.accuracy)}: {scores.right} of {scores.total} right",
        f"trained in {seconds:.2f} s; wrote {out}",
    )


def _result(
    output: Output,
    network: Network,
    options: TrainingOptions,
    losses: list[Progress],
    scores: Scores,
    seconds: float,
    out: Path,
    extra: dict[str, Any],
) -> None:
    import dataclasses

    from rooftile.lab.environment import environment
    from rooftile.lab.records import plain

    labels = range(len(scores.confusion))
    output.result(
        plain(
            {
                "model": network.name,
                "layers": [dataclasses.asdict(layer) for layer in network.layers],
                "options": options.to_json(),
                "losses": [progress.loss for progress in losses],
                "accuracy": scores.accuracy,
                "confusion": scores.confusion.tolist(),
                "precision": [scores.precision(label) for label in labels],
                "recall": [scores.recall(label) for label in labels],
                "seconds": seconds,
                "out": str(out),
                **extra,
                "environment": dataclasses.asdict(environment()),
            }
        )
    )
