from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from rooftile.errors import InputError
from rooftile.nn import MODELS, architecture, load, models
from rooftile.nn.data import fashion, load_images
from rooftile.nn.training import TrainingOptions, predict
from rooftile.ops import named

NAMED = {
    "lenet5": ["conv2d lenet-conv1", "conv2d lenet-conv2", "linear lenet-linear1",
               "linear lenet-linear2"],
    "mnist8": ["conv2d mnist-conv", "linear mnist-linear1", "linear mnist-linear2"],
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_the_layers_are_the_named_problems(name):
    expected = [named(*problem.split(), batch=17) for problem in NAMED[name]]
    assert [problem for _, problem in architecture(name).problems(17)] == expected


@pytest.mark.parametrize("name", MODELS)
def test_shipped_weights_say_how_they_were_made(name):
    metadata = load(name).metadata
    assert metadata["model"] == name
    options = TrainingOptions(**json.loads(metadata["options"]))
    assert (str(options.seed), str(options.epochs)) == (metadata["seed"], metadata["epochs"])
    # The command gives what is not the default, and nothing else is.
    command = f"rooftile train {name} --seed {options.seed}"
    if options.epochs != TrainingOptions().epochs:
        command += f" --epochs {options.epochs}"
    assert metadata["command"] == command
    # The command line moves images by a pixel where nothing is said.
    assert options == TrainingOptions(seed=options.seed, epochs=options.epochs, shift=1)
    assert metadata["version"]


@pytest.mark.parametrize("name", MODELS)
def test_shipped_weights_classify_the_sample_as_recorded(name):
    network, sample = load(name), load_images(data=fashion.SAMPLE_DIRECTORY)
    right = predict(network, sample.images) == sample.labels
    # Rounding differs from one BLAS to another and may turn a close call.
    for count in (100, 1000):
        recorded = float(network.metadata[f"accuracy_{count}"])
        assert right[:count].mean() == pytest.approx(recorded, abs=2 / count)
    assert right.mean() >= 0.886
    assert float(network.metadata["accuracy_10000"]) >= 0.895


def test_shipped_weights_are_small():
    assert sum(path.stat().st_size for path in models.WEIGHTS.iterdir()) < 7 * 2**20


@pytest.mark.skipif(
    not fashion.SYSTEM_DIRECTORY.is_dir(), reason="dataset-fashion-mnist is not installed"
)
@pytest.mark.parametrize("name", MODELS)
def test_shipped_weights_reach_their_accuracy_on_all_test_images(name):
    network, test = load(name), load_images(data=fashion.SYSTEM_DIRECTORY)
    accuracy = np.mean(predict(network, test.images) == test.labels)
    assert accuracy == pytest.approx(float(network.metadata["accuracy_10000"]), abs=5e-4)


def test_a_file_is_loaded_as_the_model_that_it_names(tmp_path):
    path = tmp_path / "mine.safetensors"
    network = architecture("lenet5").initialise(3)
    network.save(path)
    for loaded in (load(path), load(str(path))):
        assert loaded.name == "lenet5"
        np.testing.assert_array_equal(
            loaded.parameters["conv1.weights"], network.parameters["conv1.weights"]
        )


@pytest.mark.parametrize("metadata", [None, {"model": "resnet50"}])
def test_a_file_that_names_no_built_in_model_is_refused(tmp_path, metadata):
    path = tmp_path / "mine.safetensors"
    save_file(dict(architecture("lenet5").initialise(0).parameters), path, metadata)
    with pytest.raises(InputError, match=rf"{path}.*model=.*'lenet5', 'mnist8'"):
        load(path)


def test_a_file_of_another_model_is_refused(tmp_path):
    path = tmp_path / "mine.safetensors"
    save_file(dict(architecture("mnist8").initialise(0).parameters), path, {"model": "lenet5"})
    with pytest.raises(InputError, match=rf"{path}.*conv2.bias"):
        load(path)


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match=r"'alexnet'.*'lenet5', 'mnist8'"):
        architecture("alexnet")
    with pytest.raises(InputError, match=r"'alexnet'.*or a file"):
        load("alexnet")
