"""What a row of calls on a GPU is to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]

HALF = 0.5
"""A function's host time beside that of PyTorch's eager block."""
PREPARED_US, PLAN_US = 8.0, 12.0
"""Host times of a prepared operation, and of a plan on a GPU's arrays."""
EAGER_US = 38.0
"""What PyTorch's eager block took of the host where these goals were set."""
LARGE = 10_000
OVERHEAD = 1.03
"""The GPU's time of a function beside the prepared operation's, at a batch of `LARGE`."""
MATMUL = {"ieee": 2.3, "tf32": 1.0, "fp16": 1.0}
"""The GPU's time of PyTorch's product, the fastest of its, beside ours."""

GOALS = (
    f"The host's time of a function is to be at most {HALF:g} of that of PyTorch's eager block,\n"
    f"that of a prepared operation at most {PREPARED_US:g} us, that of a plan on a GPU's arrays\n"
    f"at most {PLAN_US:g} us, on a host where PyTorch's eager block of a small convolution takes\n"
    f"{EAGER_US:g} us: such times are shown beside PyTorch's too. At a batch of {LARGE:,} the\n"
    f"GPU's time of a function is to be at most {OVERHEAD:g} of the prepared operation's. Matrix\n"
    f"products are to be {MATMUL['ieee']:g}, {MATMUL['tf32']:g} and {MATMUL['fp16']:g} times as\n"
    "fast as PyTorch's fastest on the same arrays at `ieee`, `tf32` and `fp16`, by the GPU's time."
)


@dataclass(frozen=True)
class Goal:
    """One number of a row, and what it is to be."""

    what: str
    value: float
    limit: float
    unit: str = "x"
    least: bool = False
    """Whether it is to be at least the limit; else at most."""

    @property
    def reached(self) -> bool:
        return self.value >= self.limit if self.least else self.value <= self.limit


def goals(row: Record) -> Iterator[Goal]:
    """The goals of a row, as far as it has their times."""
    kind = row["kind"]
    call, eager = _median(row, "call"), _median(row, "torch eager")
    if kind in ("conv2d", "linear"):
        if call and eager:
            yield Goal("host, call / torch eager", call / eager, HALF)
        if prepared := _median(row, "prepared"):
            yield Goal(f"host, prepared{_beside(prepared, eager)}", prepared, PREPARED_US, " us")
        yield from _overhead(row)
    if kind == "matmul":
        ours = _median(row, "call", "event_us")
        theirs = [_median(row, who, "event_us") for who in row["times"] if who.startswith("torch")]
        known = [one for one in theirs if one]
        if ours and known:
            what = "GPU, fastest of PyTorch / call"
            yield Goal(what, min(known) / ours, MATMUL[row["precision"]], least=True)
    if kind == "plan":
        for who in ("plan, PyTorch", "plan, CuPy"):
            if host := _median(row, who):
                yield Goal(f"host, {who}{_beside(host, eager)}", host, PLAN_US, " us")


def _beside(ours: float, eager: float | None) -> str:
    """How much of PyTorch's eager time it is: hosts differ, and the goals were set on one."""
    return f" ({ours / eager:.2f} of torch eager)" if eager else ""


def _overhead(row: Record) -> Iterator[Goal]:
    call, prepared = (_median(row, who, "event_us") for who in ("call", "prepared"))
    if row["batch"] == LARGE and call and prepared:
        yield Goal("GPU, call / prepared", call / prepared, OVERHEAD)


def _median(row: Record, who: str, clock: str = "host_us") -> float | None:
    one = row["times"].get(who, {}).get(clock)
    return one["median"] if one else None
