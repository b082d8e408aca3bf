"""Problems beyond what a kernel's indices reach are refused, not computed wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import UnsupportedProblem
from rooftile.ops import Conv2d
from rooftile.strategies import ladder


@pytest.mark.parametrize("rung", ladder("conv2d", "opencl"), ids=lambda rung: rung.name)
def test_an_image_of_more_than_31_bits_is_refused(rung, opencl_device):
    huge = Conv2d(1, 1, 50_000, 50_000, 1, (3, 3))
    weights, bias = np.zeros((1, 1, 3, 3), np.float32), np.zeros(1, np.float32)
    with pytest.raises(UnsupportedProblem):
        rung.bind(huge, (weights, bias), opencl_device)
