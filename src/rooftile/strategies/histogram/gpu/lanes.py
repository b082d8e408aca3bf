"""`lanes`: a lane's own copy of the bins, in a bank of its own. Source: Podlozhnyuk, "Histogram
calculation in CUDA" (NVIDIA, 2007), for bins of few threads; PMPP, sections 9.4 and 9.5."""

from __future__ import annotations

from rooftile.analysis.accesses import Accesses
from rooftile.ops.patterns.histogram import Histogram
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.histogram.gpu._shared import SharedHistogram

_MOST_COPIES = 32
"""Banks of shared memory."""
_VECTOR_BYTES = 16


class Lanes(SharedHistogram):
    """As many copies as shared memory holds."""

    name = "lanes"
    summary = "a copy of the bins for each lane, in a bank of its own; vectors of 16 bytes"
    tunables = (
        Tunable("BLOCK", (128, 256, 512, 1024), 1024),
        Tunable("COPIES", (1, 2, 4, 8, 16, 32), 32),
        Tunable("LOADS", (1, 2, 4), 1),
        Tunable("BLOCKS", (1, 2, 3, 4), 2),
    )

    def limits(self, problem: Histogram) -> str | None:
        if problem.input_arrays[0].numpy.itemsize > _VECTOR_BYTES // 4:
            return f"{problem.dtype}: its threads take four elements of a vector at once"
        return super().limits(problem)

    def copies(self, config: Config) -> int:
        return config["COPIES"]

    def shared_bytes(self, problem: Histogram, config: Config) -> int:
        """One bin more, for elements in no bin."""
        return 4 * (problem.bins + 1) * config["COPIES"]

    def least_config(self) -> Config:
        """One copy."""
        return {"COPIES": 1}

    def defaults(self, problem: Histogram) -> dict[str, int]:
        """The most copies with which two blocks are resident, else one."""
        for blocks in (2, 1):
            room, copies = self.machine.shared_room(blocks), _MOST_COPIES
            while copies > 1 and self.shared_bytes(problem, {"COPIES": copies}) > room:
                copies //= 2
            if copies >= _MOST_COPIES // 4:
                break
        return {"BLOCK": 1024, "COPIES": copies, "LOADS": 1, "BLOCKS": blocks}

    def steps(self, problem: Histogram, config: Config) -> tuple[Step, ...]:
        each = _VECTOR_BYTES // problem.input_arrays[0].numpy.itemsize
        return self.in_shared(problem, config, each)

    def read(self, problem: Histogram, stride: int = 1, width: int = 1) -> Accesses:
        """See `GpuHistogram.read`: vectors of 16 bytes."""
        return super().read(problem, stride, self._vector(problem))

    def _vector(self, problem: Histogram) -> int:
        return _VECTOR_BYTES // problem.input_arrays[0].numpy.itemsize


STRATEGY = Lanes()
