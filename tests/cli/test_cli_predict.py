from __future__ import annotations

import sys

import numpy as np
import pytest

from rooftile.nn import load
from rooftile.nn.data import CLASSES, load_images


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    monkeypatch.chdir(tmp_path)
    test, paths = load_images(limit=3), []
    for number, pixels in enumerate(test.images):
        paths.append(f"{number}.png")
        image.fromarray(pixels).save(paths[-1])
    return test, paths


def test_pictures_are_classified_as_their_pixels_are(call_json, call, pictures):
    test, paths = pictures
    network = load("lenet5")
    expected = network.predict(network.prepare(test.images))
    found = call_json("predict", "lenet5", *paths)["pictures"]
    assert [one["classes"][0]["label"] for one in found] == expected.tolist()
    assert [len(one["classes"]) for one in found] == [3, 3, 3]
    assert np.all(np.diff([likely["share"] for likely in found[0]["classes"]]) <= 0)
    code, out, _ = call("predict", "lenet5", *paths, "--top", 1)
    assert code == 0
    assert all(CLASSES[label] in out for label in expected)


def test_what_is_no_picture_is_wrong_usage(call, tmp_path):
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    path = tmp_path / "x.png"
    path.write_text("no picture")
    code, _, err = call("predict", "lenet5", path)
    assert code == 2
    assert "x.png" in err


def test_without_pillow_the_package_is_named(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    code, _, err = call("predict", "lenet5", tmp_path / "x.png")
    assert code == 1
    assert 'pip install "pillow>=10"' in err
