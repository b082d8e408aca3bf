"""The milestone report's products on tensor cores, on the host: right, and wrong ones caught."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices.gpu import macro_lines, prelude
from rooftile.lab.emulation import missing, run
from rooftile.lab.emulation.program import unwritten
from rooftile_papers.reproduce import fused_products
from rooftile_papers.reproduce.fused_products import Layer, Product, is_right, precision, variants

SMALL = Layer("layer 1", 1, 12, 5)
"""36 columns and 49 taps: neither a tile nor a step divides them."""
IMAGES = 2
pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


def emulated(name, folder, change=("", "")):
    config = variants()[name]
    product = Product(SMALL, name, config)
    generator = np.random.default_rng(0)
    x = generator.random((IMAGES, SMALL.channels, SMALL.size, SMALL.size), np.float32)
    weights = generator.standard_normal((SMALL.maps, SMALL.channels, 7, 7), np.float32)
    shape = IMAGES, SMALL.maps, SMALL.out, SMALL.out
    out = unwritten(4 * int(np.prod(shape))).view(np.float32).reshape(shape)
    text = product.text
    assert change[0] in text
    whole = macro_lines(product.macros()) + prelude() + text.replace(*change)
    launch = product.launch(SMALL.out**2, IMAGES)
    arrays = {"x": x, "weights": weights, "mask": weights, "out": out}
    arguments = ("x", "weights", "out", SMALL.out**2)
    made = run(whole, fused_products.FOLDERS, [(launch, arguments)], arrays, folder, watched=True)
    rounding = precision(config)
    return [is_right(SMALL, x, weights, made["out"][n], rounding, n) for n in range(IMAGES)]


@pytest.mark.parametrize("name", ["constant + tf32", "unrolled + fp16, every warp"])
def test_tensor_cores_products_are_right(name, tmp_path):
    assert emulated(name, tmp_path) == [True] * IMAGES


def test_a_wrong_one_is_caught(tmp_path):
    """Every square takes the columns of the first."""
    assert not all(emulated("constant + tf32", tmp_path, ("&right[0][side]", "&right[0][0]")))
