"""The rungs that fold the pool and say which sum of each window is the largest, for training."""

from __future__ import annotations

from dataclasses import replace

from rooftile.ops import Conv2d
from rooftile.strategies.common.folded_pool import rows_of_few
from rooftile.strategies.contract.gpu import Config, family
from rooftile.strategies.conv2d.gpu._argmax import Argmax
from rooftile.strategies.conv2d.gpu.pool_folded._in_float16 import Tf32InFloat16
from rooftile.strategies.conv2d.gpu.pool_folded.pool_folded import BANDS, NarrowFolded
from rooftile.strategies.conv2d.gpu.pool_folded.pool_folded_ieee import PoolFoldedIeee
from rooftile.strategies.conv2d.gpu.pool_folded.pool_folded_tf32 import PoolFoldedTf32
from rooftile.strategies.conv2d.gpu.pool_folded.pool_folded_wgmma import WarpgroupsFolded
from rooftile.strategies.conv2d.gpu.pool_folded.pool_folded_wgmma_ieee import PoolFoldedWgmmaIeee
from rooftile.strategies.conv2d.gpu.pool_folded.pool_folded_wgmma_tf32 import PoolFoldedWgmmaTf32

_MOST_BLOCKS = 5


class NarrowArgmax(Argmax, NarrowFolded):
    """Places wait with the results, or go to memory as these do."""

    name = "pool_folded_{precision}_argmax"

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """The rung's defaults; places take registers, and so fewer blocks fit, and the bands of few
        images are lower, so that no multiprocessor is idle."""
        config = super().defaults(replace(problem, returns=("y",)))
        config |= {"LEAST_BLOCKS": min(_MOST_BLOCKS, config["LEAST_BLOCKS"])}
        rows = rows_of_few(problem, config, BANDS, self.machine.multiprocessors)
        return config | {"BAND_ROWS": rows}

    def config(self, problem: Conv2d, given: Config | None = None) -> dict[str, int]:
        """Nothing is staged unasked where shared memory has no room for places with results."""
        found = super().config(problem, given)
        asked = "STAGED" in (given or {})
        return found if asked or self.invalid(problem, found) is None else {**found, "STAGED": 0}


class WarpgroupsArgmax(Argmax, WarpgroupsFolded):
    """See `WarpgroupsFolded`."""

    name = "pool_folded_wgmma_{precision}_argmax"


class Tf32Argmax(Argmax, PoolFoldedTf32):
    """See `PoolFoldedTf32`."""

    name = "pool_folded_tf32_argmax"


class WgmmaTf32Argmax(Argmax, PoolFoldedWgmmaTf32):
    """See `PoolFoldedWgmmaTf32`."""

    name = "pool_folded_wgmma_tf32_argmax"


class Tf32InFloat16Argmax(NarrowArgmax, Tf32InFloat16):
    """See `Tf32InFloat16`."""

    name = "pool_folded_tf32_in_fp16_argmax"


class IeeeArgmax(Argmax, PoolFoldedIeee):
    """See `PoolFoldedIeee`."""

    name = "pool_folded_ieee_argmax"


class WgmmaIeeeArgmax(Argmax, PoolFoldedWgmmaIeee):
    """See `PoolFoldedWgmmaIeee`."""

    name = "pool_folded_wgmma_ieee_argmax"


STRATEGIES = (
    *family(WarpgroupsArgmax(), "fp16", "bf16"),
    *family(NarrowArgmax(), "fp16", "bf16"),
    WgmmaTf32Argmax(),
    Tf32Argmax(),
    Tf32InFloat16Argmax(),
    IeeeArgmax(),
    WgmmaIeeeArgmax(),
)
