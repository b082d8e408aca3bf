"""Every kind of output by every command: `train`, `run`, `predict`, and Python, which all agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rooftile.nn import ConvLayer, LinearLayer, Network, Pixels, Standardisation, load
from rooftile.nn.data import read_csv
from rooftile.nn.training import predict
from tests.support.training_tables import generated

FEW_STEPS = ("--batch", 60, "--optimizer", "adam", "--learning-rate", 0.1, "--epochs", 25)
KINDS = {
    "one sigmoid": (),
    "one linear": ("--output", "none"),
    "softmax of two": ("--output", "softmax", "--loss", "cross_entropy", *FEW_STEPS),
    "sigmoids": ("--label", "-1"),
    "softmax": ("--output", "softmax"),
    "linear": ("--output", "none", "--loss", "cross_entropy", *FEW_STEPS),
    "regression": ("--regression",),
}
THREE = ("sigmoids", "softmax", "linear")
BANKNOTE = Path("../shared/banknote")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables of two classes, of three, and of a number to come near to, with raw features."""
    folder = tmp_path_factory.mktemp("tables")
    for name, rows, seed in (("train", 300, 0), ("test", 80, 1)):
        x, two = generated(rows, seed)
        x = x * [1, 100, 1e-3, 1] + [0, 5e3, 2, 0]
        angle = two + 2 * (x[:, 0] > 1)
        targets = {"two": two, "three": np.minimum(angle, 2), "number": 2 * x[:, 0] - x[:, 3] + 7}
        for kind, label in targets.items():
            np.savetxt(folder / f"{name}-{kind}.csv", np.column_stack([x, label]), delimiter=",")
    return folder


def files(tables, kind):
    which = "number" if kind == "regression" else "three" if kind in THREE else "two"
    return tables / f"train-{which}.csv", tables / f"test-{which}.csv"


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_agrees(kind, call, call_json, tables, tmp_path):
    out, (data, test) = tmp_path / "net.safetensors", files(tables, kind)
    trained = call_json(
        "train", "mlp", "--hidden", "8", "--data", data, "--test", test, "--out", out,
        "--epochs", 60, "--learning-rate", 0.03, *KINDS[kind],
    )  # fmt: skip
    network, regression = load(out), kind == "regression"
    table = read_csv(test, targets=1 if regression else None)
    run = call_json("run", out, "--data", test, "--batch", 30)
    told = call_json("predict", out, "--data", test)["rows"]
    assert [one["row"] for one in told] == list(range(1, 81))
    found = network.predict(table.features)
    np.testing.assert_array_equal(predict(network, table.features), found) if not regression else (
        np.testing.assert_allclose(predict(network, table.features), found, rtol=1e-4, atol=1e-4)
    )
    if regression:
        np.testing.assert_allclose([one["outputs"] for one in told], found, rtol=1e-5)
        error = np.mean((found - table.labels) ** 2)
        for command in (trained, run):
            assert command["mean_squared_error"] == pytest.approx(error, rel=1e-4)
            assert command["accuracy"] is None
        assert run["r2"] > 0.9
        return
    assert [one["classes"][0]["label"] for one in told] == found.tolist()
    accuracy = (found == table.labels).mean()
    assert trained["accuracy"] == run["accuracy"] == accuracy > 0.9
    assert trained["confusion"] == run["confusion"]
    assert sum(map(sum, run["confusion"])) == 80
    shares = np.array([[likely["share"] for likely in one["classes"]] for one in told])
    assert (np.diff(shares, axis=1) <= 1e-6).all()
    if kind != "sigmoids":
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    if kind == "softmax":
        plain = -np.sort(-network.plan()(table.features), axis=1)
        np.testing.assert_allclose(shares, plain, rtol=1e-5, atol=1e-6)


def test_what_run_and_predict_print_of_rows(call, tables, tmp_path):
    out, (data, test) = tmp_path / "net", files(tables, "one sigmoid")
    words = ("--hidden", "4", "--data", data, "--epochs", 3, "--out", out)
    assert call("train", "mlp", *words)[0] == 0
    code, text, err = call("run", out, "--data", test, "--limit", 50)
    assert code == 0, err
    for word in ("of 50 rows", "rows/s", "predicted 1", "recall", "ms for 50 rows"):
        assert word in text
    code, text, err = call("predict", out, "--data", test, "--top", 1)
    assert code == 0, err
    assert "class 1" in text
    # The same rows without their labels.
    features = tmp_path / "features.csv"
    x = read_csv(test).features
    np.savetxt(features, x, delimiter=",")
    assert call("predict", out, "--data", features, "--top", 1)[1] == text
    np.savez(tmp_path / "x.npz", x=x)
    assert call("predict", out, "--data", tmp_path / "x.npz", "--top", 1)[1] == text


def test_rows_that_are_prepared_already(call_json, tables, tmp_path):
    _, test = files(tables, "one sigmoid")
    table = read_csv(test)
    standardise = Standardisation.of(table.features)
    layers = [LinearLayer("last", 1, "sigmoid")]
    Network(layers, 4, standardisation=standardise).initialise(0).save(tmp_path / "net")
    ready = np.column_stack([standardise(table.features), table.labels])
    np.savetxt(tmp_path / "ready.csv", ready, delimiter=",")
    raw = call_json("run", tmp_path / "net", "--data", test)
    prepared = call_json("run", tmp_path / "net", "--data", tmp_path / "ready.csv", "--prepared")
    assert raw["confusion"] == prepared["confusion"]
    words = ("predict", tmp_path / "net", "--data")
    one = call_json(*words, test)["rows"]
    two = call_json(*words, tmp_path / "ready.csv", "--prepared")["rows"]
    np.testing.assert_allclose(
        [row["outputs"] for row in one], [row["outputs"] for row in two], rtol=1e-4
    )


@pytest.fixture
def pictures(tmp_path):
    """Pictures of two classes, and a network of one sigmoid that has learned nothing yet."""
    labels = np.arange(40) % 2
    images = np.random.default_rng(0).integers(0, 90, (40, 8, 8), np.uint8)
    images[labels == 1, :4] += 150
    for split in ("train", "test"):
        np.savez(tmp_path / f"{split}.npz", images=images, labels=labels, classes=["day", "night"])
    layers = (ConvLayer("conv", 2, 3, activation="relu"), LinearLayer("last", 1, "sigmoid"))
    network = Network("pictures", (1, 8, 8), layers, pixels=Pixels(0.3, 0.3))
    network.initialise(1).save(tmp_path / "net.safetensors")
    return tmp_path


def test_one_sigmoid_over_pictures(call, call_json, pictures):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    file, out = pictures / "net.safetensors", pictures / "trained.safetensors"
    trained = call_json(
        "train", file, "--data", pictures, "--epochs", 12, "--batch", 16, "--shift", 0, "--holdout",
        8, "--learning-rate", 0.05, "--out", out,
    )  # fmt: skip
    assert trained["accuracy"]["40"] == trained["epochs"][-1]["holdout_accuracy"] == 1
    run = call_json("run", out, "--data", pictures)
    assert run["accuracy"] == 1
    assert run["confusion"] == [[20, 0], [0, 20]]
    assert run["class_precision"] == run["class_recall"] == [1, 1]
    assert run["precision"] == "ieee"
    code, text, err = call("run", out, "--data", pictures)
    assert code == 0, err
    assert "predicted 1" in text
    assert "1 night" in text
    pixels = np.load(pictures / "test.npz")["images"][:2]
    for number, one in enumerate(pixels):
        image.fromarray(one).save(pictures / f"{number}.png")
    told = call_json("predict", out, pictures / "0.png", pictures / "1.png")["pictures"]
    assert [one["classes"][0]["class"] for one in told] == ["day", "night"]
    assert [len(one["classes"]) for one in told] == [2, 2]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", "rows"), "--data"),
        (("run", "rows", "--data", "."), "a directory"),
        (("run", "rows", "--data", "wide.csv"), "2 features"),
        (("run", "pictures", "--data", "wide.csv"), "reads images"),
        (("run", "pictures", "--prepared"), "--prepared"),
        (("predict", "rows"), "--data"),
        (("predict", "rows", "a.png"), "--data"),
        (("predict", "rows", "--data", "wide.csv"), "4 features"),
        (("predict", "pictures", "--data", "wide.csv"), "PICTURE"),
        (("predict", "pictures"), "PICTURE"),
    ],
)
def test_inputs_of_the_other_kind_are_wrong_usage(words, named, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Network("rows", 4, [LinearLayer("last", 1, "sigmoid")]).initialise(0).save("rows")
    Network("pictures", (1, 8, 8), [LinearLayer("last", 2)]).initialise(0).save("pictures")
    Path("wide.csv").write_text("1,2,0\n3,4,1\n")
    code, _, err = call(*words)
    assert code == 2
    assert named in err


def test_banknotes(call_json, tmp_path):
    """What the documentation trains, on the data that it was measured on."""
    if not BANKNOTE.is_dir():
        pytest.skip(f"no {BANKNOTE}: the banknote authentication data of UCI")
    out, test = tmp_path / "mlp", BANKNOTE / "data_test.csv"
    trained = call_json(
        "train", "mlp", "--hidden", "4,5,5", "--activations", "softmax,relu,tanh", "--epochs", 300,
        "--learning-rate", 0.01, "--data", BANKNOTE / "data_train.csv", "--test", test,
        "--out", out,
    )  # fmt: skip
    assert trained["accuracy"] > 0.9
    assert call_json("run", out, "--data", test)["confusion"] == trained["confusion"]
    table = read_csv(test)
    assert (load(out).predict(table.features) == table.labels).mean() == trained["accuracy"]
