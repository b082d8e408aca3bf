from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.cli.commands import run
from rooftile.lab.measure.networks import layers
from rooftile.lab.measure.peers import cpu as peers_cpu
from rooftile.lab.measure.peers import gpu as peers_gpu
from rooftile.lab.measure.peers.cpu import Peer, PeerCall
from rooftile.lab.measure.records import Row
from rooftile.lab.show.report.sources import content
from rooftile.nn import ConvLayer, LinearLayer, Network, Pixels, architecture, load
from rooftile.nn.data import load_images, prepare
from rooftile.ops import ERROR_MODELS
from rooftile.runtime.timing import host
from rooftile.runtime.timing.device import TimedLaunches
from rooftile.runtime.timing.host import Timing

RUN_KEYS = {
    "model", "device", "precision", "batch", "images", "accuracy", "op_times_ms", "total_ms",
    "images_per_s", "strategies", "environment", "confusion", "class_precision", "class_recall",
}  # fmt: skip
LAYERS = ["conv1", "linear1", "linear2"]


def test_run_prints_times_accuracy_and_predictions(call, weights, data):
    code, out, err = call("run", weights, "--data", data, "--batch", 10)
    assert code == 0, err
    assert "data: test images in" in out
    assert all(any(line.startswith(name) for line in out.splitlines()) for name in LAYERS)
    assert "images/s" in out
    assert "of 25 images" in out
    assert "first predictions: " in out
    assert max(map(len, out.splitlines())) <= 80


def test_run_json(call_json, weights, data):
    found = call_json("run", weights, "--data", data, "--batch", 10, "--limit", 23)
    assert set(found) == RUN_KEYS
    assert (found["model"], found["device"], found["precision"]) == ("small", "cpu", "ieee")
    assert (found["batch"], found["images"]) == (10, 23)
    assert list(found["op_times_ms"]) == list(found["strategies"]) == LAYERS
    images = load_images("test", data, 23)
    expected = load(weights).predict(prepare(images.images, 28)) == images.labels
    assert found["accuracy"] == expected.mean()
    assert str(data) in found["environment"]["data"]
    assert found["environment"]["peak_memory_mib"] > 0


def test_run_on_a_gpu_gives_the_cpus_accuracy(call, call_json, weights, data, opencl_device):
    arguments = ("run", weights, "--data", data, "--batch", 10)
    found = call_json(*arguments, "--device", "opencl")
    assert set(found) == RUN_KEYS | {"device_ms"}
    assert found["device"] == "opencl:0"
    assert list(found["op_times_ms"]) == list(found["strategies"]) == LAYERS
    assert found["accuracy"] == call_json(*arguments)["accuracy"]
    assert found["environment"]["device"]["name"] == opencl_device.description.name
    code, out, err = call(*arguments, "--device", "opencl")
    assert code == 0, err
    assert any(line.startswith("with copies") for line in out.splitlines())
    assert max(map(len, out.splitlines())) <= 80


def test_peers_of_networks_on_opencl_there_are_none(call, weights, data):
    code, _, err = call("run", weights, "--data", data, "--device", "opencl", "--peers")
    assert code == 2
    assert "--peers" in err


class Same:
    """Stands for a `GpuPeer`: it gives the reference, or is not installed."""

    errors = ERROR_MODELS["ieee"]

    def __init__(self, name, precision):
        self.name, self.precision = name, precision

    def missing(self):
        return "not installed: torch" if self.name == "none" else None

    def why_not(self, problem):
        return self.missing()

    def bind(self, problem, parameters, inputs, device):
        work = TimedLaunches(device, str, str, 1, str, 0.05)
        call = SimpleNamespace(compute=str, work=lambda clock: work, repeat=str)

        def give(inputs):
            scores = problem.reference(*inputs, *parameters).astype(np.float32)
            call.result = lambda: (scores,)

        call.give = give
        give(inputs)
        return call


@pytest.mark.alone
def test_a_gpus_plan_is_timed_in_turns_with_its_peers(
    call, call_json, weights, data, opencl_device, monkeypatch
):
    monkeypatch.setattr(run, "_check_peers", lambda arguments: None)
    monkeypatch.setattr(peers_gpu, "gpu_peers", lambda p: [Same("same", p), Same("none", p)])
    arguments = ("run", weights, "--data", data, "--batch", 10, "--device", "opencl", "--peers")
    found = call_json(*arguments)
    assert set(found) == RUN_KEYS | {"device_ms", "peers", "plan"}
    assert found["plan"]["time_ms"]["median"] == found["device_ms"]
    assert found["plan"]["error"]["budget_fraction"] <= 1
    assert [(row["strategy"], row["status"]) for row in found["peers"]] == [
        ("same", "passed"), ("none", "skipped"),
    ]  # fmt: skip
    (shown,) = content(found).networks
    assert shown.plan.strategy == "plan"
    code, out, err = call(*arguments)
    assert code == 0, err
    assert any(line.startswith("(ours)") and "ieee" in line for line in out.splitlines())
    assert "none: skipped, not installed: torch" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.alone
@pytest.mark.parametrize("precision", ["ieee", "tf32", "fp16", "bf16"])
def test_a_network_beside_pytorch_on_a_gpu(
    call_json, weights, data, precision, cuda_device, monkeypatch
):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    eager = peers_gpu.gpu_peers(precision)[:2]
    monkeypatch.setattr(peers_gpu, "gpu_peers", lambda _: eager)
    arguments = ("--device", "cuda", "--precision", precision, "--peers")
    found = call_json("run", weights, "--data", data, "--batch", 20, *arguments)
    assert [row["status"] for row in (found["plan"], *found["peers"])] == ["passed"] * 3
    assert {row["precision"] for row in found["peers"]} == {precision}
    assert all(row["time_ms"]["median"] > 0 for row in found["peers"])


def test_a_wrong_plan_beside_peers_is_exit_code_1(call, weights, data, opencl_device, monkeypatch):
    wrong = Row("strategy", "plan", "opencl:0", "ieee", "failed", "it is Sunday")
    monkeypatch.setattr(run, "_check_peers", lambda arguments: None)
    monkeypatch.setattr(run, "_peers", lambda *_: (wrong,))
    code, out, _ = call("run", weights, "--data", data, "--device", "opencl", "--peers")
    assert code == 1
    assert "plan: failed, it is Sunday" in out


def test_accuracy_does_not_depend_on_the_batch(call_json, weights, data):
    runs = [
        call_json("run", weights, "--data", data, "--batch", batch, "--precision", precision)
        for batch, precision in ((1, "ieee"), (7, "ieee"), (64, "fast"))
    ]
    assert len({run["accuracy"] for run in runs}) == 1


def test_weights_for_a_built_in_model(call_json, data, tmp_path):
    weights = tmp_path / "mine.safetensors"
    architecture("mnist8").initialise(1).save(weights)
    found = call_json("run", "mnist8", "--weights", weights, "--data", data)
    assert found["model"] == "mnist8"


def test_peers_get_the_same_weights_and_images(call_json, weights, data, known_roof, monkeypatch):
    seen = []

    def build(problem, parameters):
        seen.append((problem, parameters))
        return PeerCall(
            load=lambda inputs: inputs,
            run=lambda inputs: problem.reference(*inputs, *parameters).astype(np.float32),
            fetch=np.asarray,
            problem=problem,
        )

    monkeypatch.setattr(peers_cpu, "PEERS", (Peer("same", (), "torch_modules", build),))
    found = call_json("run", weights, "--data", data, "--batch", 10, "--peers")
    assert set(found) == RUN_KEYS | {"peers"}
    (row,) = found["peers"]
    assert (row["strategy"], row["status"], row["kind"]) == ("same", "passed", "peer")
    ((problem, parameters),) = seen
    assert problem.batch == 10
    assert np.array_equal(parameters[0], load(weights).parameters["conv1.weights"])


def test_train_writes_weights_that_run(call_json, call, data, tmp_path):
    out = tmp_path / "trained.safetensors"
    arguments = ("train", "mnist8", "--data", data, "--limit", 30, "--batch", 8, "--out", out)
    found = call_json(*arguments, "--epochs", 2, "--optimizer", "sgd", "--learning-rate", 0.01)
    assert found["options"]["optimiser"] == "sgd"
    assert found["options"]["learning_rate"] == 0.01
    assert found["images"] == 30
    assert found["loss"] > 0
    assert found["out"] == str(out)
    metadata = load(out).metadata
    assert metadata["command"] == (
        "rooftile train mnist8 --seed 0 --limit 30 --epochs 2 --batch 8 --learning-rate 0.01 "
        "--optimizer sgd"
    )
    code, text, _ = call("run", out, "--data", data)
    assert code == 0
    assert "mnist8" in text


def test_resume_ends_with_the_weights_of_an_unbroken_run(
    call, weights, data, tmp_path, monkeypatch
):
    def train(out, *more):
        return call("train", weights, "--data", data, "--epochs", 2, "--out", out, *more)

    whole, broken = tmp_path / "whole.safetensors", tmp_path / "broken.safetensors"
    code, out, err = train(whole)
    assert code == 0
    assert "epoch 2/2: loss" in err
    assert "accuracy" not in err
    assert f"wrote {whole}" in out.replace("\n", "")

    from rooftile.cli.render import training as command

    def stop(output, line):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(command, "epoch_line", stop)
        assert train(broken)[0] == 130
    assert not broken.exists()
    assert train(broken, "--resume")[0] == 0
    for key, value in load(whole).parameters.items():
        assert np.array_equal(value, load(broken).parameters[key])


def test_resume_without_a_checkpoint_is_an_error(call, data, tmp_path):
    code, _, err = call("train", "mnist8", "--data", data, "--out", tmp_path / "x", "--resume")
    assert code == 2
    assert "checkpoint" in err


@pytest.mark.parametrize(("waited", "said"), [(None, False), (0.04, False), (0.4, True)])
def test_a_machine_too_busy_to_trust_is_said(call, weights, data, monkeypatch, waited, said):
    timing = Timing(1.0, 0.9, 1.1, 0.8, 20, steady=True, waited=waited)
    monkeypatch.setattr(host, "measure", lambda _: timing)
    monkeypatch.setattr(layers, "interleaved", lambda calls: dict.fromkeys(calls, timing))
    _, _, err = call("run", weights, "--data", data, "--batch", 10)
    assert ("the whole network" in err and "up to 40 %" in err) == said
    assert ("too busy to trust" in err) == said


@pytest.fixture
def colour(tmp_path):
    """A directory with pictures of three colours, and a network that has learned nothing yet."""
    labels = np.arange(24) % 3
    images = np.random.default_rng(0).integers(0, 90, (24, 3, 9, 11), np.uint8)
    images[np.arange(24), labels] += 160
    for split in ("train", "test"):
        names = ["red", "green", "blue"]
        np.savez(tmp_path / f"{split}.npz", images=images, labels=labels, classes=names)
    # The kernels are those of an example.
    layers = (ConvLayer("a", 6, 5, activation="relu", pool=("max", 2)), LinearLayer("b", 3))
    network = Network("colour", (3, 20, 20), layers, pixels=Pixels((0.4,) * 3, (0.3,) * 3))
    network.initialise(1).save(tmp_path / "colour.safetensors")
    return tmp_path


def test_a_network_of_ones_own_learns_runs_and_looks_at_pictures(call_json, call, colour):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    file = colour / "colour.safetensors"
    trained = call_json(
        "train", file, "--data", colour, "--epochs", 20, "--batch", 20, "--shift", 0,
        "--learning-rate", 0.01, "--overwrite",
    )  # fmt: skip
    assert trained["model"] == "colour"
    code, out, _ = call("run", file, "--data", colour)
    assert code == 0
    assert "accuracy 100.00 % of 24 images" in out
    assert "first predictions: red, green, blue" in out
    blue = np.zeros((20, 30, 3), np.uint8) + np.array([40, 40, 220], np.uint8)
    image.fromarray(blue).save(colour / "sea.png")
    found = call_json("predict", file, colour / "sea.png")["pictures"]
    assert found[0]["classes"][0]["class"] == "blue"


def test_images_of_other_channels_are_wrong_usage(call, colour, data):
    code, _, err = call("run", colour / "colour.safetensors", "--data", data)
    assert code == 2
    assert "1 channel(s)" in err
    assert "test.npz" in err
