from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
import numpy as np
import pytest

from rooftile.cli.contract import OBJECTS
from rooftile.cli.render.output import Output
from rooftile.nn import ConvLayer, LinearLayer, Network
from rooftile.nn.data.idx import idx_bytes


@pytest.fixture(autouse=True)
def all_quick_and_here(quick, judged_here):
    """Times are not what these tests look at."""


@pytest.fixture(autouse=True)
def objects_are_as_their_schemas_say(monkeypatch):
    """Each object that a command of these tests prints has the keys and types of its schema."""
    printed = Output.result

    def checked(self: Output, value: dict[str, Any]) -> None:
        name = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
        name = {"_run_stream": "run", "_train_mlp": "train"}.get(name, name)
        if name in OBJECTS:
            kept = json.loads(json.dumps(value))
            known = msgspec.to_builtins(msgspec.convert(kept, OBJECTS[name]))
            assert known == kept, f"keys without a type: {set(kept) - set(known)}"
        printed(self, value)

    monkeypatch.setattr(Output, "result", checked)


@pytest.fixture
def data(tmp_path):
    """A directory with few random images of both splits."""
    generator, directory = np.random.default_rng(0), tmp_path / "data"
    directory.mkdir()
    for split, count in (("train", 40), ("t10k", 25)):
        images = generator.integers(0, 256, (count, 28, 28), np.uint8)
        labels = generator.integers(0, 10, count, np.uint8)
        (directory / f"{split}-images-idx3-ubyte").write_bytes(idx_bytes(images))
        (directory / f"{split}-labels-idx1-ubyte").write_bytes(idx_bytes(labels))
    return directory


@pytest.fixture
def weights(tmp_path):
    """A file with random weights of a small network with the layers of mnist8."""
    layers = (
        ConvLayer("conv1", 8, 5, padding=2, activation="relu", pool=("max", 2)),
        LinearLayer("linear1", 20, activation="relu"),
        LinearLayer("linear2", 10),
    )
    path = tmp_path / "small.safetensors"
    Network("small", (1, 28, 28), layers).initialise(1).save(path)
    return path
