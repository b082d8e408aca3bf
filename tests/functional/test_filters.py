"""`rooftile.conv1d` and `rooftile.separable` as their user calls them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import rooftile
from rooftile.errors import InputError

GENERATOR = np.random.default_rng(0)
SIGNAL = GENERATOR.standard_normal(20_001, np.float32)
MASK = GENERATOR.standard_normal(5, np.float32)
VOICES = GENERATOR.standard_normal((3, 2, 300), np.float32)
MASKS = GENERATOR.standard_normal((4, 2, 6), np.float32)
IMAGES = GENERATOR.standard_normal((3, 40, 52), np.float32)


@pytest.mark.parametrize("strategy", [None, "loops", "threads", "vectors"])
def test_a_signal_is_what_numpy_makes_of_it(strategy):
    y = rooftile.conv1d(SIGNAL, MASK, strategy=strategy)
    assert y.dtype == np.float32
    assert np.allclose(y, np.correlate(SIGNAL, MASK, "same"), atol=1e-5)
    y = rooftile.conv1d(SIGNAL, MASK, boundary="valid", strategy=strategy)
    assert np.allclose(y, np.correlate(SIGNAL, MASK, "valid"), atol=1e-5)
    y = rooftile.conv1d(SIGNAL, MASK, boundary="interior", strategy=strategy)
    assert (y[:2] == 0).all()
    assert (y[-2:] == 0).all()


def test_channels_and_maps():
    y = rooftile.conv1d(VOICES, MASKS, boundary="valid")
    assert y.shape == (3, 4, 295)
    made = sum(np.correlate(VOICES[1, c], MASKS[3, c], "valid") for c in range(2))
    assert np.allclose(y[1, 3], made, atol=1e-5)


@pytest.mark.parametrize("strategy", [None, "loops", "vectors"])
def test_images(strategy):
    column, row = MASK, MASK[:3]
    y = rooftile.separable(IMAGES, column, row, boundary="replicate", strategy=strategy)
    whole = rooftile.separable(IMAGES[1], column, row, boundary="replicate")
    assert (y.shape, whole.shape) == (IMAGES.shape, IMAGES.shape[1:])
    assert np.allclose(y[1], whole, atol=1e-5)
    masks = (column[:, None] * row)[None, None]
    images = np.pad(IMAGES, ((0, 0), (2, 2), (1, 1)), "edge")[:, None]
    assert np.allclose(y, rooftile.conv2d(images, masks)[:, 0], atol=1e-4)


def test_one_element_and_masks_larger_than_the_input():
    one = np.array([3], np.float32)
    assert rooftile.conv1d(one, np.array([2], np.float32)) == 6
    ones = np.ones(63, np.float32)
    assert rooftile.conv1d(one, ones).tolist() == [3]
    assert rooftile.conv1d(one, ones, boundary="replicate").tolist() == [189]
    assert rooftile.conv1d(one, ones, boundary="interior").tolist() == [0]
    assert rooftile.separable(one[None], ones, ones).tolist() == [[3]]


def test_a_second_call_has_its_own_mask():
    first = rooftile.conv1d(SIGNAL, MASK)
    assert np.allclose(rooftile.conv1d(SIGNAL, 2 * MASK), 2 * first, atol=1e-5)
    y = rooftile.separable(IMAGES, MASK, MASK)
    assert np.allclose(rooftile.separable(IMAGES, MASK, -MASK), -y, atol=1e-5)


def test_eight_threads_at_first_use():
    masks = [np.full(7, number, np.float32) for number in range(16)]
    ones = np.ones((3, 41, 43), np.float32)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda mask: rooftile.separable(ones, mask, masks[1]), masks))
        lines = list(pool.map(lambda mask: rooftile.conv1d(ones[0, 0], mask), masks))
    assert all((y[:, 3:-3, 3:-3] == 49 * number).all() for number, y in enumerate(found))
    assert all((y[3:-3] == 7 * number).all() for number, y in enumerate(lines))


def test_views_and_out():
    assert np.allclose(
        rooftile.conv1d(SIGNAL[::2], MASK), np.correlate(SIGNAL[::2], MASK, "same"), atol=1e-5
    )
    out = np.empty_like(SIGNAL)
    assert rooftile.conv1d(SIGNAL, MASK, out=out) is out
    shifted = np.empty(SIGNAL.size + 1, np.float32)[1:]
    assert (rooftile.conv1d(SIGNAL, MASK, out=shifted) == out).all()
    with pytest.raises(InputError, match="out"):
        rooftile.conv1d(SIGNAL, MASK, out=SIGNAL)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("x", lambda: rooftile.conv1d(SIGNAL[:0], MASK)),
        ("x", lambda: rooftile.conv1d(VOICES[0], MASK)),
        ("mask", lambda: rooftile.conv1d(SIGNAL.astype(np.float64), MASK)),
        ("mask", lambda: rooftile.conv1d(SIGNAL, MASK[:0])),
        ("mask", lambda: rooftile.conv1d(SIGNAL, MASKS)),
        ("mask", lambda: rooftile.conv1d(VOICES, MASKS[:, :1])),
        ("mask", lambda: rooftile.conv1d(SIGNAL[:4], MASK, boundary="valid")),
        ("boundary", lambda: rooftile.conv1d(SIGNAL, MASK, boundary="mirror")),
        ("strategy", lambda: rooftile.conv1d(SIGNAL, MASK, strategy="fastest")),
        ("x", lambda: rooftile.separable(IMAGES[:, :0], MASK, MASK)),
        ("x", lambda: rooftile.separable(SIGNAL, MASK, MASK)),
        ("column", lambda: rooftile.separable(IMAGES, MASKS, MASK)),
        ("row", lambda: rooftile.separable(IMAGES, MASK, MASK[:0])),
        ("column", lambda: rooftile.separable(IMAGES[:, :4], MASK, MASK, boundary="valid")),
        ("row", lambda: rooftile.separable(IMAGES[..., :4], MASK, MASK, boundary="valid")),
        ("boundary", lambda: rooftile.separable(IMAGES, MASK, MASK, boundary="interior")),
    ],
)
def test_bad_input_names_the_argument(argument, call):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument


def test_the_pages_example_runs():
    page = (Path(__file__).parents[2] / "docs" / "learn" / "conv1d.md").read_text(encoding="utf-8")
    names = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    assert names["z"].shape == (16, 8, 47_986)
    assert np.allclose(names["y"][1:-1], 1)
    assert np.allclose(names["blurred"], 1)


def test_on_opencl(opencl_device):
    y = rooftile.conv1d(SIGNAL, MASK, device="opencl")
    assert np.allclose(y, rooftile.conv1d(SIGNAL, MASK), atol=1e-5)
    y = rooftile.separable(IMAGES, MASK, MASK[:4], device="opencl")
    assert np.allclose(y, rooftile.separable(IMAGES, MASK, MASK[:4]), atol=1e-5)


def test_on_tensors_of_a_gpu(cuda_device):
    torch = pytest.importorskip("torch")
    x, mask = torch.from_numpy(SIGNAL).cuda(), torch.from_numpy(MASK).cuda()
    y = rooftile.conv1d(x, mask)
    assert y.device.type == "cuda"
    assert np.allclose(y.cpu().numpy(), rooftile.conv1d(SIGNAL, MASK), atol=1e-5)
    assert torch.allclose(rooftile.conv1d(x, 2 * mask), 2 * y, atol=1e-5)
    images = torch.from_numpy(IMAGES).cuda()
    y = rooftile.separable(images, mask, mask)
    assert np.allclose(y.cpu().numpy(), rooftile.separable(IMAGES, MASK, MASK), atol=1e-5)


@pytest.mark.alone
def test_more_than_2_to_the_31_elements_on_a_gpu(cuda_device):
    torch = pytest.importorskip("torch")
    count, room = 2**31 + 17, torch.cuda.mem_get_info()[0]
    if room < 10 * count:
        pytest.skip(f"{room:,} bytes are free, wanted are {10 * count:,}")
    x = torch.zeros(count, device="cuda")
    # Every output that a place reaches is larger than zero.
    places = (0, 1, 2**31 - 2, 2**31 - 1, 2**31, 2**31 + 5, count - 1)
    for number, place in enumerate(places):
        x[place] = number + 1
    mask = torch.tensor([1.0, 10.0, 100.0], device="cuda")
    for strategy in ("naive", "constant", "tile_two_loads", "tile_core", "coarsened"):
        y = rooftile.conv1d(x, mask, strategy=strategy)
        for first in (0, 2**31 - 8, count - 16):
            ends = max(first - 1, 0), min(first + 17, count)
            near = x[ends[0] : ends[1]].cpu().numpy()
            made = np.correlate(near, mask.cpu().numpy(), "same")
            inner = slice(first - ends[0], first - ends[0] + min(16, count - first))
            assert y[first : first + 16].cpu().numpy().tolist() == made[inner].tolist(), strategy
        touched = {p + d for p in places for d in (-1, 0, 1) if 0 <= p + d < count}
        assert int((y != 0).sum()) == len(touched), strategy
        del y
