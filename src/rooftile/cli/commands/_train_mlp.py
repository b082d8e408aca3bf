"""`rooftile train mlp`: fully connected layers over a table, by default with a step a row."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._options import add_table_arguments, table_words
from rooftile.cli.render.output import Output
from rooftile.cli.render.scores import judge, judged_json, judged_line, judged_sheet
from rooftile.cli.render.sheet import Sheet
from rooftile.cli.render.training import (
    checkpoint_of,
    epochs_json,
    out_of,
    profile_json,
    profile_of,
    profile_sheet,
    progress_bar,
)

if TYPE_CHECKING:
    from rooftile.nn import Network
    from rooftile.nn.data import Table
    from rooftile.nn.training import Progress, TrainingOptions
    from rooftile.nn.training.scores import Fit, Scores

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
"""Number of epochs whose losses are printed."""


def add_mlp_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that only `mlp` has."""
    group = parser.add_argument_group("of mlp")
    group.add_argument("--hidden", default="4,5,5", metavar="N,N", help="neurons of hidden layers")
    group.add_argument(
        "--activations", metavar="NAME,NAME", help="of the hidden layers (default: tanh of each)"
    )
    group.add_argument("--output", metavar="NAME", help="the last layer's (default sigmoid)")
    group.add_argument("--test", type=Path, metavar="FILE", help="the table that is judged on")
    group.add_argument("--loss", metavar="NAME", help="default half_squared_error")
    group.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    add_table_arguments(group)
    group.add_argument("--raw", action="store_true", help="do not standardise the features")
    group.add_argument(
        "--regression",
        action="store_true",
        help="the label is a number to come near to (default of --output then: none)",
    )


def train_mlp(arguments: argparse.Namespace, output: Output, given: dict[str, Any]) -> int:
    """Train, judge, save, print.  Exit code 0."""
    import dataclasses

    from rooftile.nn.data import Standardisation
    from rooftile.nn.training import TrainingOptions, outputs, train

    tables = _tables(arguments)
    table, test = tables[0], tables[-1]
    classes = 1 if arguments.regression else max(part.classes for part in tables)
    network = _network(arguments, table.features.shape[1], classes)
    chosen = {**_DEFAULTS, **given, "dtype": arguments.dtype}
    chosen |= {"loss": arguments.loss} if arguments.loss else {}
    options = TrainingOptions(seed=arguments.seed, **chosen)
    trained_on = table.features[: len(table) - options.holdout]
    if not arguments.raw and len(trained_on):
        network = dataclasses.replace(network, standardisation=Standardisation.of(trained_on))
    out = out_of(arguments, network.name)
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
            table.features,
            table.labels,
            options,
            checkpoint=checkpoint_of(out),
            resume=arguments.resume,
            progress=each_step,
            phases=profile,
            device=arguments.device,
            data_memory=arguments.data_memory and arguments.data_memory * 10**6,
        )
    seconds = time.perf_counter() - start
    scores = judge(trained.interface, test.labels, outputs(trained, test.features))
    trained = _recorded(trained, options, scores, f"{table.source}, {len(table)} rows")
    trained.save(out)
    _show(output, losses, scores, test, seconds, out)
    extra: dict[str, Any] = {} if profile is None else {"profile": profile_json(profile)}
    extra |= {"device": arguments.device, "epochs": epochs_json(losses)}
    _result(output, trained, options, losses, scores, seconds, out, extra)
    if profile is not None:
        output.show(profile_sheet(profile))
    return 0


def _tables(arguments: argparse.Namespace) -> list[Table]:
    """The training table, and the table to judge on where it is another one."""
    from rooftile.errors import InputError
    from rooftile.nn.data import read_table

    if arguments.data is None:
        raise InputError("--data", "nothing", "a table: a CSV or an NPZ file")
    paths = [path for path in (arguments.data, arguments.test) if path is not None]
    words = table_words(arguments) | {"targets": 1 if arguments.regression else None}
    tables = [read_table(path, **words) for path in paths]
    labels = tables[0].labels
    if not arguments.regression and (labels == labels[0]).all():
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
    last: Any = arguments.output or ("none" if arguments.regression else "sigmoid")
    outputs = 1 if classes <= 2 and last != "softmax" else classes
    layers.append(LinearLayer("output", outputs, last))
    return Network("mlp", features, layers)


def _recorded(
    network: Network, options: TrainingOptions, scores: Scores | Fit, trained_on: str
) -> Network:
    """The network with metadata on its making."""
    import json

    metadata = {
        "seed": str(options.seed),
        "options": json.dumps(options.to_json(), sort_keys=True),
        "trained_on": trained_on,
    }
    for name in ("accuracy", "mean_squared_error"):
        if (value := judged_json(scores).get(name)) is not None:
            metadata[name] = f"{value:.6f}"
    return network.with_parameters(network.parameters, {**network.metadata, **metadata})


def _show(
    output: Output,
    losses: list[Progress],
    scores: Scores | Fit,
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
    table = judged_sheet(scores, str)
    shown: list[Any] = [] if table is None else [f"{test.source}, {scores.total:,} rows:", table]
    output.show(
        epochs,
        *shown,
        judged_line(scores, f"rows of {test.source}"),
        f"trained in {seconds:.2f} s; wrote {out}",
    )


def _result(
    output: Output,
    network: Network,
    options: TrainingOptions,
    losses: list[Progress],
    scores: Scores | Fit,
    seconds: float,
    out: Path,
    extra: dict[str, Any],
) -> None:
    import dataclasses

    from rooftile.lab.measure.environment import environment
    from rooftile.lab.measure.records import plain

    judged = judged_json(scores)
    output.result(
        plain(
            {
                "model": network.name,
                "layers": [dataclasses.asdict(layer) for layer in network.layers],
                "options": options.to_json(),
                "losses": [progress.loss for progress in losses],
                **judged,
                "precision": judged.get("class_precision"),
                "recall": judged.get("class_recall"),
                "seconds": seconds,
                "out": str(out),
                **extra,
                "environment": dataclasses.asdict(environment()),
            }
        )
    )
