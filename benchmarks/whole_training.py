"""Train built-in networks from nothing by the documented command, and watch it from outside.

    python benchmarks/whole_training.py [--data DIR] [--device cuda] [--keep] [lenet5 mnist8]

Each network's command of `COMMANDS` runs in a process of its own.  Its checkpoint, which it
replaces after every epoch, says what the weights of that epoch make of all 10,000 test images.
Then the last epoch is done once more from the checkpoint before it, by a process that is killed on
its way and by one that goes on from there: both trainings must end with the same bits.  ``--keep``
puts the record beside the others and writes the page.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import training_page

from rooftile.lab.environment import environment
from rooftile.lab.records import plain
from rooftile.nn import MODELS
from rooftile.nn.data import ImageSet, load_images
from rooftile.nn.tensors import read_tensors
from rooftile.nn.training import predict

COMMANDS = {
    "lenet5": "lenet5 --seed 1",
    "mnist8": "mnist8 --seed 1 --epochs 10",
}
"""What `rooftile train` is asked for."""
_LOOKED_EVERY_S = 0.2
_KILLED_AFTER_S = 8.0


class Training:
    """A command in a folder, and what becomes of it."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.out = folder / "weights.safetensors"
        self.checkpoint = folder / "weights.safetensors.checkpoint"
        self._words = [sys.executable, "-m", "rooftile", "train", *words, "--out", str(self.out)]

    def start(self, *more: str) -> subprocess.Popen[str]:
        """Begin, or go on."""
        return subprocess.Popen([*self._words, "--json", *more], stdout=subprocess.PIPE, text=True)

    def epoch(self) -> int:
        """How many epochs the checkpoint has behind it."""
        if not self.checkpoint.exists():
            return 0
        return int(json.loads(read_tensors(self.checkpoint)[1]["state"])["epoch"])


def accuracy(model: str, checkpoint: Path, test: ImageSet) -> float:
    """The share of the test images that a checkpoint's weights get right."""
    tensors, prefix = read_tensors(checkpoint)[0], "parameters."
    found = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    network = MODELS[model].with_parameters(found)
    return float((predict(network, test.images) == test.labels).mean())


def watched(model: str, words: list[str], folder: Path, test: ImageSet) -> dict[str, Any]:
    """What a whole training came to, by epoch, and whether a killed one ends with its bits."""
    whole, begin = Training(words, folder / "whole"), time.perf_counter()
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
    from_epoch = max(epoch for epoch in seen if epoch < last)
    killed = Training(words, folder / "killed")
    shutil.copy(folder / f"epoch-{from_epoch}", killed.checkpoint)
    return {
        "model": model,
        "command": f"rooftile train {COMMANDS[model]}",
        "images": found["images"],
        "options": found["options"],
        "epochs": epochs,
        "accuracy": found["accuracy"],
        "seconds": seconds,
        "processor_seconds": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime,
        "killed_in_epoch": from_epoch + 1,
        "same_bits": ends_equal(killed, whole),
    }


def ends_equal(killed: Training, whole: Training) -> bool:
    """Whether a training that is killed, and goes on, has the weights of one that was not."""
    process = killed.start("--resume")
    time.sleep(_KILLED_AFTER_S)
    process.kill()
    process.communicate()
    killed.start("--resume").communicate()
    ours, theirs = read_tensors(killed.out)[0], read_tensors(whole.out)[0]
    return ours.keys() == theirs.keys() and all(
        ours[key].tobytes() == theirs[key].tobytes() for key in theirs
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(COMMANDS))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    test = load_images("test", arguments.data)
    rows = []
    for model in arguments.models:
        words = [*COMMANDS[model].split(), "--device", arguments.device]
        words += ["--data", str(arguments.data)] if arguments.data else []
        with tempfile.TemporaryDirectory() as folder:
            for name in ("whole", "killed"):
                (Path(folder) / name).mkdir()
            rows.append(watched(model, words, Path(folder), test))
        print(json.dumps(plain(rows[-1])), flush=True)
    if arguments.keep:
        record = {"device": arguments.device, "environment": dataclasses.asdict(environment())}
        training_page.keep(training_page.TRAINED, plain({**record, "rows": rows}))


if __name__ == "__main__":
    main()
