"""Which first weights learn: ten generated tasks, each by every rule and by the default.

    python benchmarks/initialisation.py [--tasks NAME,NAME] [--keep]

Nothing is downloaded.  A task has learnt where the last epoch's loss is at most half of what an
answer has that ignores the inputs.  ``--keep`` writes the table into docs/do/training.md.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import filled, markdown_table

from rooftile.devices.ceilings import cpu_name
from rooftile.errors import InputError, TrainingWarning
from rooftile.nn import ConvLayer, LinearLayer, Network
from rooftile.nn.initialisation import DEFAULT, RULES
from rooftile.nn.training import Progress, TrainingOptions, train
from rooftile.nn.training.watch import constant_loss

PAGE = Path(__file__).parents[1] / "docs" / "do" / "training.md"
_LEARNT = 0.5
_CHOICES: dict[str, dict[str, Any]] = {
    **{name: {"init": name} for name in RULES},
    "he, small last layer": {"init": "he", "last_scale": 0.1},
}
SGD = {"optimizer": "sgd", "learning_rate": 0.01, "momentum": 0.9}

Data = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Task:
    """A network, what it is trained on, and how."""

    name: str
    network: Network
    data: Callable[[], Data]
    options: dict[str, Any]

    def loss(self, chosen: dict[str, Any]) -> float:
        """The mean loss of the last epoch; infinity where one was not finite."""
        (x, targets), losses = self.data(), list[float]()
        options = TrainingOptions(**{**self.options, **chosen})

        def report(progress: Progress) -> None:
            if progress.step == progress.steps:
                losses.append(progress.loss)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)
            try:
                train(self.network, x, targets, options, progress=report)
            except InputError:
                return float("inf")
        return losses[-1]

    def constant(self) -> float:
        """The loss of the best answer that ignores the inputs."""
        _, targets = self.data()
        options = TrainingOptions(**self.options)
        return constant_loss(options, targets, self.network.output_shape[0])


def images(channels: int, size: int, classes: int, noise: float, scale: float = 1.0) -> Data:
    """512 images, each of its class's pattern of 4 x 4 pixels a block, under noise."""
    generator = np.random.default_rng(0)
    blocks = generator.standard_normal((classes, channels, size // 4, size // 4))
    labels = generator.integers(0, classes, 512)
    pattern = np.kron(blocks, np.ones((1, 1, 4, 4)))[labels]
    noisy = pattern + noise * generator.standard_normal(pattern.shape)
    return (scale * noisy).astype(np.float32), labels


def rows(kind: str) -> Data:
    """1,024 rows of 20 features; what is asked of them is nonlinear."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((1024, 20), np.float32)
    if kind == "classes":
        return x, np.tanh(x @ generator.standard_normal((20, 3))).argmax(axis=1)
    if kind == "parity":
        return x, (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    wanted = np.stack([np.sin(x[:, 0]) + x[:, 1] * x[:, 2], x[:, 3] ** 2], axis=1)
    return x, wanted.astype(np.float32)


def convolutions(
    maps: tuple[int, ...],
    outputs: int,
    activation: Any = "relu",
    last: Any = "none",
    **layer: Any,
) -> tuple[ConvLayer | LinearLayer, ...]:
    """3 x 3 convolutions of so many maps, and a fully connected layer."""
    convolved = (
        ConvLayer(f"conv{k}", count, 3, activation=activation, **layer)
        for k, count in enumerate(maps, 1)
    )
    return *convolved, LinearLayer("last", outputs, last)


def connected(
    hidden: tuple[int, ...], outputs: int, activation: Any, last: Any = "none"
) -> tuple[LinearLayer, ...]:
    """Fully connected layers."""
    layers = (LinearLayer(f"hidden{k}", n, activation) for k, n in enumerate(hidden, 1))
    return *layers, LinearLayer("last", outputs, last)


TASKS = (
    Task(
        "3x32x32, convolutions of 32 and 64 maps, unscaled",
        Network("a", (3, 32, 32), convolutions((32, 64), 10, stride=2)),
        lambda: images(3, 32, 10, 3.0, scale=6.0),
        {"epochs": 3, **SGD},
    ),
    Task(
        "3x32x32, the same scaled, with pools",
        Network("b", (3, 32, 32), convolutions((16, 32), 10, padding=1, pool=("max", 2))),
        lambda: images(3, 32, 10, 1.0),
        {"epochs": 3, **SGD},
    ),
    Task(
        "1x28x28, one convolution, Adam",
        Network("c", (1, 28, 28), convolutions((8,), 4, padding=1, pool=("max", 2))),
        lambda: images(1, 28, 4, 2.0),
        {"epochs": 4},
    ),
    Task(
        "1x16x16, five convolutions of 16 maps",
        Network("d", (1, 16, 16), convolutions((16,) * 5, 4, padding=1)),
        lambda: images(1, 16, 4, 1.0),
        {"epochs": 5, **SGD},
    ),
    Task(
        "4x48x48, two classes by one sigmoid",
        Network("e", (4, 48, 48), convolutions((8, 16), 1, last="sigmoid", stride=2)),
        lambda: images(4, 48, 2, 3.0),
        {"epochs": 4, **SGD},
    ),
    Task(
        "2x20x20, tanh and average pools",
        Network("f", (2, 20, 20), convolutions((8, 16), 5, "tanh", padding=1, pool=("average", 2))),
        lambda: images(2, 20, 5, 1.0),
        {"epochs": 4, **SGD},
    ),
    Task(
        "table, three classes, two layers of 64",
        Network(connected((64, 64), 3, "relu"), 20),
        lambda: rows("classes"),
        {"epochs": 15, **SGD},
    ),
    Task(
        "table, three classes, eight layers of 64",
        Network(connected((64,) * 8, 3, "relu"), 20),
        lambda: rows("classes"),
        {"epochs": 30, **SGD},
    ),
    Task(
        "table, parity of two signs by one sigmoid, Adam",
        Network(connected((64, 32), 1, "tanh", "sigmoid"), 20),
        lambda: rows("parity"),
        {"epochs": 100},
    ),
    Task(
        "table, two numbers by squared error",
        Network(connected((64, 64), 2, "relu"), 20),
        lambda: rows("numbers"),
        {"epochs": 15, "loss": "squared_error", **SGD},
    ),
)


def table(tasks: tuple[Task, ...]) -> list[str]:
    """Each task's last losses, and behind them how many tasks each rule learns."""
    lines, learnt = [], dict.fromkeys(_CHOICES, 0)
    for task in tasks:
        constant, cells = task.constant(), [task.name]
        cells.append(f"{constant:.3f}")
        for name, chosen in _CHOICES.items():
            loss = task.loss(chosen)
            learnt[name] += (right := loss <= _LEARNT * constant)
            cells.append(f"{loss:.3f}" if right else f"**{loss:.3f}**")
            print(f"{task.name}: {name} {loss:.4g} of {constant:.4g}", file=sys.stderr, flush=True)
        lines.append(cells)
    lines.append(["learns", "", *(f"{count} of {len(tasks)}" for count in learnt.values())])
    names = (f"`{name}`" if name in RULES else f"{name}" for name in _CHOICES)
    return markdown_table(["task", "ignores its inputs", *names], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", metavar="N,N", help="only these, counted from 1")
    parser.add_argument("--keep", action="store_true", help="write docs/do/training.md")
    arguments = parser.parse_args()
    wanted = arguments.tasks and {int(word) for word in arguments.tasks.split(",")}
    tasks = tuple(task for k, task in enumerate(TASKS, 1) if not wanted or k in wanted)
    made = table(tasks)
    print("\n".join(made))
    if arguments.keep:
        today = datetime.date.today().isoformat()
        head = (
            f"On {today}, on an {cpu_name()}; the default is `{DEFAULT}`. Not learnt, which is "
            "more than half of the loss of an answer that\nignores the inputs, is **bold**."
        )
        lines = [head, "", *made, ""]
        PAGE.write_text(filled(PAGE.read_text("utf-8"), lines, "initialised"), "utf-8")


if __name__ == "__main__":
    main()
