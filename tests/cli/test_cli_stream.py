"""`run --stream`: what it prints, refuses, and does with a contradiction."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rooftile.analysis.transfers import Pipeline
from rooftile.cli.commands import _run_stream
from rooftile.lab.measure.networks import streams
from rooftile.lab.measure.networks.streams import StreamTiming
from rooftile.nn import LinearLayer, Network, Pixels, Standardisation, load
from rooftile.nn.data import load_images
from rooftile.runtime.timing.host import timing_of

KEYS = {
    "model", "device", "precision", "batch", "images", "dtype", "accuracy", "segments",
    "total_ms", "images_per_s", "model_segments", "stream", "strategies", "environment",
    "confusion", "class_precision", "class_recall",
}  # fmt: skip


class Stream:
    """Stands for an `ImageStream`: times are known, labels are the plan's."""

    def __init__(self, plan, wrong=None, contradicted=()):
        self.plan, self.wrong, self.contradicted = plan, wrong, contradicted

    def pinned(self, shape, dtype):
        return np.empty(shape, dtype)

    def segments(self, images):
        return 5

    def model(self, images):
        return Pipeline(1e-3, 5e-4, 1e-5, 1e-5)

    def classify(self, images, *, segments):
        x = images
        if images.dtype == np.uint8:
            assert self.plan.network.pixels is not None, "a real one refuses them"
            x = self.plan.network.prepare(images)
        labels = self.plan.network.interface.labels(self.plan(x))
        if segments == self.wrong:
            labels[3] += 1
        return labels

    def timing(self, images, segments):
        """What stands for `time_stream`."""
        parts = (1.0, 0.5, 0.01)
        if segments in self.contradicted:
            return StreamTiming(len(images), segments, None, None, *parts, "two clocks differ")
        device = timing_of([1e-3 + 5e-4 / segments])
        return StreamTiming(len(images), segments, device, timing_of([2e-3]), *parts, "")


@pytest.fixture
def own_pixels(weights, tmp_path):
    """The same network in a file that says how pixels become numbers, in a way of its own."""
    small, path = load(weights), tmp_path / "pixels.safetensors"
    pixels = Pixels((0.5,), (0.125,))
    made = Network("pixels", small.input_shape, small.layers, small.parameters, pixels=pixels)
    made.save(path)
    return path


@pytest.fixture
def streaming(monkeypatch):
    """CPU plans that seem to stream; the fixture takes what their stream does wrong."""
    plan, environment = Network.plan, _run_stream.environment_of
    faults: dict[str, object] = {}

    def planned(network, *, batch, precision, device, prepared=False):
        made = plan(network, batch=batch, precision=precision, prepared=prepared)
        made.stream, made.device = Stream(made, **faults), "cuda:0"
        return made

    def named(*arguments):
        return {**environment(*arguments), "device": {"name": "a fake GPU"}}

    monkeypatch.setattr(Network, "plan", planned)
    monkeypatch.setattr(_run_stream, "environment_of", named)
    monkeypatch.setattr(
        streams, "time_stream", lambda stream, images, segments: stream.timing(images, segments)
    )
    return faults


def test_the_models_number_of_segments(call, call_json, own_pixels, data, streaming):
    arguments = ("run", own_pixels, "--data", data, "--device", "cuda", "--stream")
    found = call_json(*arguments)
    assert set(found) == KEYS
    assert (found["images"], found["batch"], found["dtype"]) == (25, 25, "uint8")
    assert [row["segments"] for row in found["stream"]] == [found["segments"]] == [5]
    assert found["total_ms"] == pytest.approx(1.1)
    assert found["images_per_s"] == pytest.approx(25 / 1.1e-3)
    (row,) = found["stream"]
    assert row["hidden"] == pytest.approx((1.51 - 1.1) / 0.51)
    assert row["model_ms"] == pytest.approx(1e3 * Pipeline(1e-3, 5e-4, 1e-5, 1e-5).seconds(5))
    network, images = load(own_pixels), load_images("test", data)
    expected = network.predict(network.prepare(images.images)) == images.labels
    assert found["accuracy"] == expected.mean()
    code, out, err = call(*arguments)
    assert code == 0, err
    assert "best: 5 segments, 1.10 ms" in out
    assert max(map(len, out.splitlines())) <= 80


def test_without_pixels_of_its_own_a_network_streams_numbers(call_json, weights, data, streaming):
    arguments = ("run", weights, "--data", data, "--device", "cuda", "--stream")
    found = call_json(*arguments)
    assert found["dtype"] == "float32"
    assert found["accuracy"] == call_json("run", weights, "--data", data)["accuracy"]


@pytest.mark.parametrize(("outputs", "last"), [(1, "sigmoid"), (3, "softmax"), (3, "sigmoid")])
def test_rows_stream_and_classify_as_everywhere(outputs, last, call_json, tmp_path, streaming):
    x, labels = np.random.default_rng(0).standard_normal((40, 4)) * 90 + 7, np.arange(40) % 2
    np.savetxt(tmp_path / "x.csv", np.column_stack([x, labels]), delimiter=",")
    layers, both = [LinearLayer("last", outputs, last)], Standardisation.of(x)
    network = Network(layers, 4, standardisation=both).initialise(0)
    network.save(tmp_path / "net")
    words = ("run", tmp_path / "net", "--data", tmp_path / "x.csv")
    plain, found = call_json(*words), call_json(*words, "--device", "cuda", "--stream")
    assert found["dtype"] == "float32"
    assert found["accuracy"] == plain["accuracy"] == (network.predict(x) == labels).mean()
    assert found["confusion"] == plain["confusion"]


def test_a_sweep_tries_what_batch_and_images_admit(call_json, weights, data, streaming):
    arguments = ("run", weights, "--data", data, "--device", "cuda", "--segments", "sweep")
    found = call_json(*arguments, "--stream", "float32", "--batch", 9)
    assert found["dtype"] == "float32"
    # At least 3 of at most 9 images; at most one for each of the 25.
    assert [row["segments"] for row in found["stream"]] == [3, 4, 5, 6, 8, 12, 16, 20, 24]
    assert found["segments"] == 24


def test_a_contradiction_has_no_time(call, call_json, weights, data, streaming):
    streaming["contradicted"] = (5,)
    arguments = ("run", weights, "--data", data, "--device", "cuda", "--stream")
    code, out, _ = call(*arguments)
    assert code == 1
    assert "5 segments: no time, two clocks differ" in out
    assert "best" not in out


def test_a_wrong_label_is_an_error(call, weights, data, streaming):
    streaming["wrong"] = 7
    arguments = ("run", weights, "--data", data, "--device", "cuda", "--stream", "--segments")
    assert call(*arguments, 6)[0] == 0
    code, _, err = call(*arguments, 7)
    assert code == 1
    assert "a streamed label is wrong" in err
    assert "(3,)" in err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--stream",), "--device cuda"),
        (("--stream", "--device", "opencl"), "--device cuda"),
        (("--segments", 4), "--stream"),
        (("--stream", "--device", "cuda", "--segments", 0), "--segments"),
        (("--stream", "--device", "cuda", "--segments", "all"), "--segments"),
        (("--stream", "--device", "cuda", "--peers"), "--peers"),
    ],
)
def test_what_does_not_stream_is_refused(arguments, named, call, weights, data):
    code, _, err = call("run", weights, "--data", data, *arguments)
    assert code == 2
    assert named in err


@pytest.mark.parametrize(("file", "dtype"), [("weights", "float32"), ("own_pixels", "uint8")])
def test_on_a_gpu(file, dtype, call, call_json, data, cuda_device, request):
    arguments = ("run", request.getfixturevalue(file), "--data", data, "--device", "cuda")
    code, out, err = call(*arguments, "--stream", "--segments", "sweep", "--json")
    assert out, err
    found = json.loads(out)
    assert (set(found), found["dtype"]) == (KEYS, dtype)
    # Others may be on the GPU: where clocks then disagree there is no time, which is no fault.
    assert code == int(any(row["contradiction"] for row in found["stream"])), err
    assert found["accuracy"] == call_json(*arguments)["accuracy"]
    timed = [row["segments"] for row in found["stream"] if row["time_ms"]]
    assert found["segments"] in (timed or [None])
