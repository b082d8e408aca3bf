"""Every rung of `gather_batch`, and that its images are those that a training on the CPU reads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn import LinearLayer, Network
from rooftile.nn.data import FASHION
from rooftile.ops.layers.gather_batch import NAMED, GatherBatch
from tests.support.every_rung import EveryRung, Wrong

RESIZED = GatherBatch(5, 21, 2, 14, 12, 17, 20, shift=3, target_words=3, size=7, epoch=19)
FLOATS = GatherBatch(4, 9, 1, 3, 25, 3, 25, floats=True, shift=2)


class TestRungs(EveryRung):
    problems = (
        GatherBatch(3, 5, 1, 9, 7, 9, 7, shift=1),
        GatherBatch(2, 4, 1, 5, 40, 9, 600),
        FLOATS,
        RESIZED,
    )
    near = (RESIZED,)
    compiled = tuple(NAMED.values())
    wrong = Wrong(
        RESIZED,
        ("naive", "variation[place]", "variation[n]"),
        ("staged", "j = OLD_WIDTH - 1 - j", "j = OLD_WIDTH - 2 - j + (j == OLD_WIDTH - 1)"),
        ("staged", "taken_off = scales[2 * c + 1]", "taken_off = scales[1]"),
    )


@pytest.mark.parametrize("size", [(17, 20), (14, 12)])
def test_images_are_those_of_a_training_on_the_cpu(size):
    problem = GatherBatch(5, 21, 1, 14, 12, *size)
    images, *others, scales = problem.random(0)
    order, step = others[1], others[3]
    network = Network("any", (1, *size), (LinearLayer("only", 2),), pixels=FASHION)
    others[2] = np.zeros_like(others[2])
    x, _ = problem.reference(images, *others, FASHION.scales(1))
    chosen = order[step[0] * 5 : step[0] * 5 + 5]
    np.testing.assert_allclose(x, network.prepare(images[chosen]), rtol=0, atol=1e-4)
    assert scales.shape == (1, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"images": 0},
        {"target_words": 0},
        {"shift": 128},
        {"epoch": 4},
        {"floats": True},
        {"size": -1},
    ],
)
def test_problems(wrong):
    with pytest.raises(InputError):
        dataclasses.replace(RESIZED, **wrong)
