"""Train built-in networks from nothing by the documented command, and watch it from outside.

    python benchmarks/whole_training.py [--data DIR] [--device cuda] [--peer] [--keep] [lenet5 ...]

Each network's command of `COMMANDS` runs in a process of its own, with Python's bytecode there, as
an installation leaves it, and on a GPU twice before anybody watches: without compiled kernels, and
with those.  Its checkpoint, which it replaces after every epoch, says what the weights of that
epoch make of all 10,000 test images.
Then a process does it once more, of a long training the last epoch alone, and is killed on its way,
and one goes on from there: both trainings must end with the same bits.  ``--peer`` has PyTorch do
the same training, by `torch_training.py`.  ``--keep`` puts the record beside the others and writes
the page.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import training_page

from rooftile.devices.select import open_gpu
from rooftile.lab.measure.environment import environment
from rooftile.lab.measure.records import plain
from rooftile.nn import MODELS
from rooftile.nn.data import ImageSet, load_images
from rooftile.nn.data.fashion import cache_directory
from rooftile.nn.tensors import read_tensors
from rooftile.nn.training import predict

COMMANDS = {
    "lenet5": "lenet5 --seed 1",
    "mnist8": "mnist8 --seed 1 --epochs 10",
}
"""What `rooftile train` is asked for."""
_LOOKED_EVERY_S = 0.2
_KILLED_AFTER_S = 8.0
_LONG_S = 60.0
"""A shorter training is done again from nothing before it is killed."""


class Training:
    """A command in a folder, and what becomes of it."""

    def __init__(self, words: list[str], folder: Path, environ: dict[str, str]) -> None:
        folder.mkdir()
        self.out, self._environ = folder / "weights.safetensors", environ
        self.checkpoint = folder / "weights.safetensors.checkpoint"
        self._words = [
            sys.executable,
            "-m",
            "rooftile",
            "train",
            *words,
            "--overwrite",
            "--out",
            str(self.out),
        ]

    def start(self, *more: str) -> subprocess.Popen[str]:
        """Begin, or go on."""
        command = [*self._words, "--json", *more]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self._environ)

    def epoch(self) -> int:
        """How many epochs the checkpoint has behind it."""
        if not self.checkpoint.exists():
            return 0
        return int(json.loads(read_tensors(self.checkpoint)[1]["state"])["epoch"])


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of a machine where packages are installed and nothing else was ever done."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "ROOFTILE_CACHE": str(folder / "kernels"),
        "CUDA_CACHE_PATH": str(folder / "nvidia"),
    }


def unwatched(words: list[str], folder: Path, environ: dict[str, str]) -> dict[str, float]:
    """Seconds of the whole command, without and with kernels that were compiled before."""
    other = str(folder / "other kernels")
    elsewhere = environ | {"ROOFTILE_CACHE": other, "CUDA_CACHE_PATH": other}
    Training(words, folder / "bytecode first", elsewhere).start("--epochs", "1").communicate()
    found = {}
    for name in ("seconds", "seconds_again"):
        begin = time.perf_counter()
        Training(words, folder / name, environ).start().communicate()
        found[name] = time.perf_counter() - begin
    return found


def accuracy(model: str, checkpoint: Path, test: ImageSet) -> float:
    """The share of the test images that a checkpoint's weights get right."""
    tensors, prefix = read_tensors(checkpoint)[0], "parameters."
    found = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    network = MODELS[model].with_parameters(found)
    return float((predict(network, test.images) == test.labels).mean())


def watched(
    model: str, words: list[str], device: str, folder: Path, test: ImageSet
) -> dict[str, Any]:
    """What a whole training came to, by epoch, and whether a killed one ends with its bits."""
    environ = surroundings(folder)
    timed = {} if device == "cpu" else unwatched(words, folder, environ)
    whole, begin = Training(words, folder / "whole", environ), time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seen: dict[int, float] = {}
    process = whole.start()
    assert process.stdout is not None
    while process.poll() is None:
        time.sleep(_LOOKED_EVERY_S)
        epoch = whole.epoch()
        if epoch and epoch not in seen:
            kept = shutil.copy(whole.checkpoint, folder / f"epoch-{epoch}")
            seen[epoch] = accuracy(model, Path(kept), test)
            print(f"{model} epoch {epoch}: {100 * seen[epoch]:.2f} %", flush=True)
    seconds, used = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(process.stdout.read())
    epochs = [{**one, "accuracy": seen.get(one["epoch"])} for one in found["epochs"]]
    last = found["options"]["epochs"]
    killed = Training(words, folder / "killed", environ)
    if seconds > _LONG_S:
        from_epoch = max(epoch for epoch in seen if epoch < last)
        shutil.copy(folder / f"epoch-{from_epoch}", killed.checkpoint)
    killed_in = until_killed(killed)
    return {
        "model": model,
        "command": f"rooftile train {COMMANDS[model]}",
        "images": found["images"],
        "options": found["options"],
        "epochs": epochs,
        "accuracy": found["accuracy"],
        "seconds": seconds,
        **timed,
        "processor_seconds": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime,
        "killed_in_epoch": killed_in,
        "same_bits": ends_equal(killed, whole),
    }


def until_killed(training: Training) -> int:
    """Kill a training some time after it began, or in the epoch after its next checkpoint, and say
    in which."""
    begun = training.epoch()
    process, begin = training.start(*(["--resume"] if begun else [])), time.perf_counter()
    while training.epoch() == begun and (
        not begun or time.perf_counter() - begin < _KILLED_AFTER_S
    ):
        time.sleep(_LOOKED_EVERY_S / 10)
        if process.poll() is not None:
            raise RuntimeError(f"it ended with {process.returncode} before it could be killed")
    process.kill()
    process.communicate()
    return training.epoch() + 1


def ends_equal(killed: Training, whole: Training) -> bool:
    """Whether a training that was killed, and goes on, has the weights of one that was not."""
    killed.start("--resume").communicate()
    ours, theirs = read_tensors(killed.out)[0], read_tensors(whole.out)[0]
    return ours.keys() == theirs.keys() and all(
        ours[key].tobytes() == theirs[key].tobytes() for key in theirs
    )


def by_torch(
    model: str, found: dict[str, Any], arguments: argparse.Namespace, environ: dict[str, str]
) -> dict[str, Any]:
    """What PyTorch's training of as many epochs came to, in a process of its own.

    One of a single epoch goes before it, which reads the library's files and writes its bytecode.
    """
    options = found["options"]
    words = [model, "--device", arguments.device, "--precision", options["precision"]]
    words += ["--data", str(arguments.data)] if arguments.data else []
    command = [sys.executable, str(Path(__file__).with_name("torch_training.py")), *words]
    for epochs in (1, options["epochs"]):
        begin = time.perf_counter()
        said = subprocess.run(
            [*command, "--epochs", str(epochs)],
            stdout=subprocess.PIPE, text=True, check=True, env=environ,
        ).stdout  # fmt: skip
        seconds = time.perf_counter() - begin
    made: dict[str, Any] = json.loads(said)
    return {**made, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(COMMANDS))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    if arguments.data is None and cache_directory().is_dir():
        # The trainings are told of a cache of their own.
        arguments.data = cache_directory()
    test = load_images("test", arguments.data)
    rows = []
    for model in arguments.models:
        words = [*COMMANDS[model].split(), "--device", arguments.device]
        words += ["--data", str(arguments.data)] if arguments.data else []
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rows.append(watched(model, words, arguments.device, folder, test))
            if arguments.peer:
                rows[-1]["torch"] = by_torch(model, rows[-1], arguments, surroundings(folder))
        print(json.dumps(plain(rows[-1])), flush=True)
    if arguments.keep:
        record: dict[str, Any] = {
            "device": arguments.device,
            "environment": dataclasses.asdict(environment()),
        }
        kind = arguments.device.partition(":")[0]
        if kind != "cpu":
            record["gpu"] = open_gpu(arguments.device).description.name
        training_page.keep(training_page.TRAINED[kind], plain({**record, "rows": rows}))


if __name__ == "__main__":
    main()
