"""What reads a network's images where they lie in float16 at another precision: for training."""

from __future__ import annotations

from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.contract.gpu import PLACES, Config
from rooftile.strategies.conv2d_weights_gradient.gpu.turned.turned import Turned


class TurnedTf32InFloat16(Turned):
    """TF32 by float16's instructions: x lies in float16, and gradients are scaled to its range.

    It is no rung of the ladder, since what it needs of x no problem says.
    """

    name = "turned_tf32_in_fp16"
    precision = "tf32"
    narrow = "fp16"
    between = (PLACES,)
    scaled = 1

    @property
    def cores(self) -> Cores:
        """See `Turned.cores`."""
        return CORES["fp16"]

    def config(self, problem: Conv2dWeightsGradient, given: Config | None = None) -> dict[str, int]:
        """There is no other x than one in 16 bits."""
        return super().config(problem, {**(given or {}), "X_NARROW": 1})


OF_IMAGES = (TurnedTf32InFloat16(),)
"""What reads a network's images in the 16 bits of another precision than its own."""
