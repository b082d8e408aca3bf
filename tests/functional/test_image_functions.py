"""`rooftile.grayscale` and `box_blur` as their user calls them."""

from __future__ import annotations

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError
from rooftile.ops.patterns.box_blur import BoxBlur

IMAGE = np.random.default_rng(0).integers(0, 256, (37, 101, 3), np.uint8)


def gray_of(image, red, green, blue):
    return np.floor(image @ np.array([red, green, blue]) + 0.5)


@pytest.mark.parametrize("strategy", [None, "loops", "threads"])
def test_grayscale(strategy):
    gray = rooftile.grayscale(IMAGE, strategy=strategy)
    assert gray.dtype == np.uint8
    assert np.abs(gray - gray_of(IMAGE, 0.21, 0.72, 0.07)).max() <= 1
    assert (rooftile.grayscale(IMAGE, (0, 1, 0), strategy=strategy) == IMAGE[..., 1]).all()
    halves = rooftile.grayscale(IMAGE, (0.5, 0.25, 0.25), strategy=strategy)
    assert (halves == gray_of(IMAGE, 0.5, 0.25, 0.25)).all()


@pytest.mark.parametrize("strategy", [None, "loops", "threads", "running"])
def test_box_blur(strategy):
    for radius, channels in ((0, 3), (1, 1), (5, 3), (40, 1)):
        image = IMAGE if channels == 3 else IMAGE[..., 0]
        blurred = rooftile.box_blur(image, radius, strategy=strategy)
        assert (blurred == BoxBlur(37, 101, radius, channels).reference(image)).all()


def test_out_and_one_pixel():
    out = np.empty((37, 101), np.uint8)
    assert rooftile.grayscale(IMAGE, out=out) is out
    assert (out == rooftile.grayscale(IMAGE)).all()
    assert rooftile.box_blur(out[:1, :1], 3) == out[0, 0]
    with pytest.raises(InputError, match="out"):
        rooftile.box_blur(out, 3, out=out)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("image", lambda: rooftile.grayscale(IMAGE[..., 0])),
        ("image", lambda: rooftile.grayscale(IMAGE[..., :2])),
        ("image", lambda: rooftile.grayscale(IMAGE.astype(np.float32))),
        ("image", lambda: rooftile.grayscale(IMAGE[:0])),
        ("weights", lambda: rooftile.grayscale(IMAGE, (0.5, 0.5, 0.5))),
        ("weights", lambda: rooftile.grayscale(IMAGE, 1)),
        ("image", lambda: rooftile.box_blur(IMAGE[..., :2], 1)),
        ("image", lambda: rooftile.box_blur(IMAGE[0, :, 0], 1)),
        ("radius", lambda: rooftile.box_blur(IMAGE, -1)),
        ("radius", lambda: rooftile.box_blur(IMAGE, 1.0)),
        ("strategy", lambda: rooftile.box_blur(IMAGE, 1, strategy="gauss")),
    ],
)
def test_bad_input_names_the_argument(argument, call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument


def test_on_opencl(opencl_device):
    assert (rooftile.grayscale(IMAGE, device="opencl") == rooftile.grayscale(IMAGE)).all()
    assert (rooftile.box_blur(IMAGE, 5, device="opencl") == rooftile.box_blur(IMAGE, 5)).all()


def test_on_tensors_of_a_gpu(cuda_device):
    torch = pytest.importorskip("torch")
    image = torch.from_numpy(IMAGE).cuda()
    assert (rooftile.grayscale(image).cpu().numpy() == rooftile.grayscale(IMAGE)).all()
    assert (rooftile.box_blur(image, 5).cpu().numpy() == rooftile.box_blur(IMAGE, 5)).all()
