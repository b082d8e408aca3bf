"""Who picks the strategy: a named one is checked, else the first that takes the problem.

A tuning's recorded winner comes first (`rooftile.lab.winners`), then the order of preference,
which comes from measurements too.  A pick is explainable: `explain_choice` says of every
strategy why it was taken or passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rooftile.devices.select import open_gpu, parse_device
from rooftile.errors import DeviceMissing, InputError, UnsupportedProblem
from rooftile.lab.winners import tuned_choice
from rooftile.ops import Chain, Conv2d, Linear, Problem, admits, check_precision
from rooftile.strategies import Strategy, ladder
from rooftile.strategies import strategy as by_name
from rooftile.strategies.gpu import GpuStrategy

PREFERENCE: dict[str, tuple[str, ...]] = {
    "conv2d": (
        "winograd", "fft", "register_tile", "unrolled", "im2col_fused", "im2col", "threads",
        "loops",
    ),
    "linear": ("blocked", "blas", "threads", "loops"),
    "pool2d": ("rows", "threads", "loops"),
    "softmax": ("threads", "loops"),
}  # fmt: skip
"""The CPU's strategies from the fastest downwards, where they take the problem and pay."""

GPU_PREFERENCE: dict[str, tuple[str, ...]] = {
    "conv2d": (
        "pool_folded_wgmma_fp16", "pool_folded_fp16", "pool_folded_wgmma_bf16", "pool_folded_bf16",
        "pool_folded_wgmma_tf32", "pool_folded_tf32",
        "implicit_gemm_fp16", "implicit_gemm_bf16", "implicit_gemm_tf32", "implicit_gemm_ieee",
        "pool_folded_wgmma_ieee", "direct_tile_fp16", "direct_tile_bf16", "direct_bulk",
        "direct_tile", "im2col_register", "row_vector", "coarsened", "tile_output", "naive",
    ),
    "linear": (
        "warpgroups_fp16", "mma_fp16", "warpgroups_bf16", "mma_bf16", "warpgroups_tf32", "mma_tf32",
        "warpgroups_ieee", "mma_ieee", "warp_rows", "register_tile", "tiled", "naive",
    ),
    "pool2d": ("vector_rows", "naive"),
    "softmax": ("block_rows", "naive"),
    "network": ("front_fp16", "front_bf16"),
}  # fmt: skip
"""The same for GPUs, of both kinds; the others are taken by name."""

DIRECT_CHANNELS = 16
"""Up to so many channels, `direct_tile` comes before the matrix products on GPUs."""

BULK_IMAGES = 1000
"""From so many images on, the blocks of `direct_bulk`, one each, fill a GPU."""

FEW_MAPS = 4
"""Up to so many maps, `pool_folded` keeps their weights in registers and needs no warpgroup."""

SPLIT_FLOPS = 1_000_000_000
"""From so many on, folded split products pay for the weights that every block loads."""

DEEP_CHANNELS, DEEP_MAPS = 16, 32
"""From so many channels and maps on, `implicit_gemm` comes before all that run on any GPU."""

FEW_IMAGES = 8
"""Up to so many images, `warp_rows` reads the weights of a layer once and tiles stay empty."""

SOME_IMAGES, FEW_PRODUCTS = 1024, 2**22
"""Up to so many images it still comes first where multiplications are so few in all."""

FRONT_IMAGES = 64
"""From so many images on, `front` is faster than the two blocks one after the other."""

FFT_TRANSFORM, FFT_PRODUCT = 825, 62
"""What one transform, and one product of transforms, costs a pixel, in taps of
`register_tile` (fitted to measurements on a Zen 4)."""

WINOGRAD_REUSE = 80
"""How often, at least, a square transformed tile must be used, in taps: the mask's area
times the harmonic mean of channels and maps (fitted likewise)."""


_FASTEST = "the fastest that takes the problem"
_TUNED = "a tuning on this device found it faster than what was picked before"


@dataclass(frozen=True)
class Consideration:
    """What became of one strategy when a problem looked for one."""

    strategy: str
    taken: bool
    reason: str


def choose(
    problem: Problem, precision: str = "ieee", device: str = "cpu", strategy: str | None = None
) -> Strategy:
    """The strategy to compute a problem with.

    A named ``strategy`` must take the problem at this precision; None means the
    fastest known for it.  Raises `InputError` for an unknown precision, device or
    strategy, or a history that cannot be read, and `UnsupportedProblem` where the named
    strategy cannot do it or the operation has none on that kind of device.  Whether the
    device is there is not asked.
    """
    check_precision(precision)
    kind, _ = parse_device(device)
    _check_operation(problem, kind)
    if strategy is not None:
        return _named(problem, precision, strategy, kind)
    tuned = tuned_choice(problem, precision, device)
    if tuned is not None:
        return tuned
    for rung, reason in _considered(problem, precision, device):
        if reason is None:
            return rung
    raise UnsupportedProblem("any", f"no strategy of {problem.operation} takes {problem}")


def choose_together(problem: Chain, precision: str, device: str) -> Strategy | None:
    """The strategy that computes several layers as one, where that is faster; None where not.

    Raises `InputError` for an unknown device.
    """
    kind, _ = parse_device(device)
    for rung in ladder(problem.operation, kind):
        if rung.precision == precision and _against(rung, problem, precision, device) is None:
            return rung
    return None


def explain_choice(
    problem: Problem, precision: str = "ieee", device: str = "cpu"
) -> tuple[Consideration, ...]:
    """Every strategy in order of preference, with why it was taken or not.

    Raises the errors of `choose`.
    """
    chosen = choose(problem, precision, device)
    kind, _ = parse_device(device)
    later = "measured slower than" if kind == "cpu" else "preferred to it is"
    tuned = tuned_choice(problem, precision, device)

    def of(rung: Strategy, against: str | None) -> Consideration:
        if rung is chosen:
            return Consideration(rung.name, True, _TUNED if tuned else _FASTEST)
        return Consideration(rung.name, False, against or f"{later} {chosen.name}")

    return tuple(of(rung, against) for rung, against in _considered(problem, precision, device))


def _check_operation(problem: Problem, kind: str) -> None:
    try:
        ladder(problem.operation, kind)
    except InputError:
        raise UnsupportedProblem(
            "any", f"{problem.operation} has no strategies on {kind} yet", 'device="cpu"'
        ) from None


def _named(problem: Problem, precision: str, name: str, kind: str) -> Strategy:
    if not isinstance(name, str):
        names = [rung.name for rung in ladder(problem.operation, kind)]
        raise InputError("strategy", repr(name), f"None or one of {names}")
    rung = by_name(problem.operation, name, kind)
    if not admits(precision, rung.precision):
        raise UnsupportedProblem(
            name, f"its precision is {rung.precision!r}, asked was {precision!r}",
            f"precision={rung.precision!r}",
        )  # fmt: skip
    rung.check(problem)
    return rung


def _considered(
    problem: Problem, precision: str, device: str
) -> Iterator[tuple[Strategy, str | None]]:
    """The ladder by preference, each rung with why it is out of the question (None: it is not)."""
    kind, _ = parse_device(device)
    preferred = (PREFERENCE if kind == "cpu" else GPU_PREFERENCE).get(problem.operation, ())

    def place(rung: Strategy) -> tuple[bool, int]:
        # A rung that nobody has placed yet comes after the others, higher rungs first.
        known = rung.name in preferred
        return not known, preferred.index(rung.name) if known else -rung.order

    for rung in sorted(ladder(problem.operation, kind), key=place):
        yield rung, _against(rung, problem, precision, device)


def _against(rung: Strategy, problem: Problem, precision: str, device: str) -> str | None:
    if not admits(precision, rung.precision):
        return f"its precision is {rung.precision!r}, asked was {precision!r}"
    if not isinstance(rung, GpuStrategy):
        return rung.why_not(problem) or _does_not_pay(rung, problem)
    against = rung.why_not(problem) or _does_not_pay_on_gpus(rung, problem)
    return against or _not_of_this_gpu(rung, device)


def _does_not_pay(rung: Strategy, problem: Problem) -> str | None:
    """Why a strategy that takes the problem is slower there than those after it."""
    if not isinstance(problem, Conv2d):
        return None
    if rung.name == "fft":
        return _fft_does_not_pay(problem)
    if rung.name == "winograd":
        return _winograd_does_not_pay(problem)
    return None


def _does_not_pay_on_gpus(rung: Strategy, problem: Problem) -> str | None:
    if rung.name not in GPU_PREFERENCE.get(problem.operation, (rung.name,)):
        return "taken by name only: where it pays is not known"
    if isinstance(problem, Conv2d):
        if rung.name.startswith("direct_tile") and problem.channels > DIRECT_CHANNELS:
            return f"it pays up to {DIRECT_CHANNELS} channels"
        if rung.name == "direct_bulk" and problem.batch < BULK_IMAGES:
            return f"it pays from {BULK_IMAGES} images"
        # Split, a chunk of channels is filled up at three times the cost.
        channels = DEEP_CHANNELS if rung.precision != "ieee" else DIRECT_CHANNELS + 1
        deep = problem.channels >= channels and problem.maps >= DEEP_MAPS
        if rung.name.startswith("implicit_gemm") and not deep:
            return f"it pays from {channels} channels and {DEEP_MAPS} maps"
        if rung.name.startswith("pool_folded_wgmma") and problem.maps <= FEW_MAPS:
            return f"it pays beyond {FEW_MAPS} maps"
        if rung.name == "pool_folded_wgmma_ieee" and problem.flops < SPLIT_FLOPS:
            return f"it pays from {SPLIT_FLOPS:,} FLOPs"
    if rung.operation == "network" and problem.batch < FRONT_IMAGES:
        return f"it pays from {FRONT_IMAGES} images"
    if isinstance(problem, Linear):
        few = _few(problem)
        if rung.name == "warp_rows" and not few:
            return f"it pays up to {FEW_IMAGES} images, or {FEW_PRODUCTS} multiplications"
        if rung.name.startswith(("mma", "warpgroups")) and few:
            return f"it pays beyond {FEW_IMAGES} images, and {FEW_PRODUCTS} multiplications"
    return None


def _few(problem: Linear) -> bool:
    """Whether a group of threads an output is faster than tiles of a product."""
    products = problem.batch * problem.inputs * problem.outputs
    some = problem.batch <= SOME_IMAGES and products <= FEW_PRODUCTS
    return some or problem.batch <= FEW_IMAGES


def _not_of_this_gpu(rung: GpuStrategy, device: str) -> str | None:
    """Why the GPU cannot run it.  Asked only of a strategy that not all GPUs run, and last."""
    if not (rung.architectures or rung.least_architecture):
        return None
    try:
        return rung.why_not_on(open_gpu(device).description.architecture)
    except DeviceMissing:
        only = " and ".join(rung.architectures)
        return f"it is for {only}, and no GPU is there" if only else None


def _winograd_does_not_pay(p: Conv2d) -> str | None:
    # Masks seven high are transformed by rows, which pays even for one channel.
    reuse = math.prod(p.mask) * 2 * p.channels * p.maps / (p.channels + p.maps)
    if p.mask[0] == 7 or reuse >= WINOGRAD_REUSE:
        return None
    return "too few channels and maps share a transformed tile"


def _fft_does_not_pay(p: Conv2d) -> str | None:
    outputs, pairs = math.prod(p.conv_read), p.channels * p.maps
    inputs = (p.height + 2 * p.padding[0]) * (p.width + 2 * p.padding[1])
    taps = inputs * (FFT_TRANSFORM * (p.channels + p.maps) + FFT_PRODUCT * pairs)
    least = taps / (pairs * outputs)
    if math.prod(p.mask) >= least:
        return None
    return f"its transforms pay from masks of {least:.0f} taps here"
