from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rooftile.nn.training.augment import augment

IMAGES = np.random.default_rng(0).integers(1, 256, (200, 6, 7), np.uint8)


def variants(image: np.ndarray, *, flip: bool, shift: int) -> set[bytes]:
    """Every image that augmentation may make of one."""
    height, width = image.shape
    found = set()
    for mirrored in [image, image[:, ::-1]] if flip else [image]:
        padded = np.pad(mirrored, shift)
        found |= {
            padded[a : a + height, b : b + width].tobytes()
            for a in range(2 * shift + 1)
            for b in range(2 * shift + 1)
        }
    return found


@given(flip=st.booleans(), shift=st.integers(0, 2), seed=st.integers(0, 99))
def test_each_image_becomes_a_variant_of_itself(flip, shift, seed):
    some = IMAGES[:20]
    result = augment(some, np.random.default_rng(seed), flip=flip, shift=shift)
    assert (result.shape, result.dtype) == (some.shape, np.uint8)
    for image, varied in zip(some, result, strict=True):
        assert varied.tobytes() in variants(image, flip=flip, shift=shift)


def test_every_variant_of_an_image_comes():
    same = np.repeat(IMAGES[:1], 1000, axis=0)
    result = augment(same, np.random.default_rng(0), flip=True, shift=1)
    assert {varied.tobytes() for varied in result} == variants(IMAGES[0], flip=True, shift=1)


def test_nothing_asked_changes_nothing_and_the_input_stays():
    before = IMAGES.copy()
    result = augment(IMAGES, np.random.default_rng(0), flip=False, shift=0)
    np.testing.assert_array_equal(result, IMAGES)
    augment(IMAGES, np.random.default_rng(0), flip=True, shift=2)
    np.testing.assert_array_equal(IMAGES, before)


def test_a_seed_gives_its_variation_and_no_other():
    one, same, other = (
        augment(IMAGES, np.random.default_rng(seed), flip=True, shift=2) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
