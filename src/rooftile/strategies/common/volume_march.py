"""The base of rungs whose blocks march through the planes of a volume."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from rooftile.analysis.accesses import Accesses, warps_of
from rooftile.ops.patterns.volumes import VolumeProblem, before
from rooftile.strategies.common.grid import blocks, tile_of
from rooftile.strategies.common.volume_accesses import results, taps_of, tile_loads, tiles_of
from rooftile.strategies.common.volumes import Tile, VolumeStrategy, times
from rooftile.strategies.contract.gpu import Config, Tunable

_WARP = 32
_VECTOR = 4
_MOST_OPEN = 80
"""Open sums a thread, which are registers."""
_FEW_OPEN = 40
"""Of these a multiprocessor holds 768 threads."""
_FEW_TAPS = 32
"""Taps below which a sum's bytes take longer than its multiply-adds, so that two blocks a
multiprocessor suffice: fewer segments are in flight, so that a halo is more often still in the
last-level cache when the neighbouring tile reads it."""
_SHALLOW = 5
"""Planes of a mask for which three stages keep enough bytes on their way."""
_MOST_IN_PATCH = 2**31 - 1
_WIDEST = 32
"""Columns of a mask whose patch registers hold."""
_MOST_SEGMENTS = 64


class MarchingStrategy(VolumeStrategy):
    """Columns of tiles are cut into segments of planes, so that all multiprocessors have work.

    A segment reads planes before and after its own, so there are no more than that.
    """

    @abstractmethod
    def front(self, problem: Any, config: Config) -> tuple[int, int]:
        """Rows and columns of a tile's sums."""

    @abstractmethod
    def further(self, problem: Any, config: Config) -> int:
        """Planes of a segment besides its sums' planes."""

    def segment(self, problem: Any, config: Config) -> int:
        """Planes of sums of a segment: those with which the last block ends first."""
        _, (planes, height, width) = self.covered(problem)
        rows, columns = self.front(problem, config)
        fronts = blocks(height, max(1, rows)) * blocks(width, max(1, columns))
        fronts *= problem.images * problem.maps
        resident = config["BLOCKS"] * self.machine.multiprocessors
        further = self.further(problem, config)

        def cost(segments: int) -> int:
            return blocks(fronts * segments, resident) * (blocks(planes, segments) + further)

        return blocks(planes, min(range(1, min(planes, _MOST_SEGMENTS) + 1), key=cost))


class MarchStrategy(MarchingStrategy):
    """One step a launch: ``march.h``."""

    aligned_columns = _VECTOR
    tunables = (
        Tunable("THREADS_X", (8, 16, 32), 32),
        Tunable("THREADS_Y", (4, 8, 12, 16, 32), 8),
        Tunable("THREAD_ROWS", (1, 2, 4), 2),
        Tunable("STAGES", (2, 3, 4), 3),
        Tunable("BLOCKS", (1, 2, 3, 4), 2),
        Tunable("SEGMENT", (0, 8, 16, 32, 64, 128, 256), 0),
    )

    def defaults(self, problem: Any) -> dict[str, int]:
        """256 threads of two rows each and copies three planes ahead, two where bytes bind (12 %
        faster on an H200, 512^3), or the next best that fits: fewer stages, then lower blocks, then
        one row a thread."""
        _, (depth, height, width) = self.covered(problem)
        across = tile_of(blocks(width, _VECTOR), 8, _WARP)
        bytes_bind = taps_of(problem) <= _FEW_TAPS and problem.mask[0] <= _SHALLOW
        ahead = (3, 2) if bytes_bind else (4, 3, 2)
        found = [
            self._config(problem, across, down, rows, stages)
            for rows in ((2, 1) if height > 1 else (1,))
            for down in (256 // across, 128 // across)
            for stages in (ahead if depth > 1 else (2,))
        ]
        return next((one for one in found if self.invalid(problem, one) is None), found[-1])

    def _config(
        self, problem: Any, across: int, down: int, rows: int, stages: int
    ) -> dict[str, int]:
        """With as many blocks of a multiprocessor as registers hold the open sums of, where their
        multiply-adds count."""
        few = problem.mask[0] * rows * _VECTOR <= _FEW_OPEN
        return {
            "THREADS_X": across,
            "THREADS_Y": down,
            "THREAD_ROWS": rows,
            "STAGES": stages,
            "BLOCKS": 3 if few and taps_of(problem) > _FEW_TAPS else 2,
            "SEGMENT": 0,
        }

    def segment(self, problem: Any, config: Config) -> int:
        """The config's planes, or with 0 as `MarchingStrategy.segment` finds them."""
        _, (planes, _, _) = self.covered(problem)
        return min(planes, config["SEGMENT"]) or super().segment(problem, config)

    def invalid(self, problem: Any, config: Config) -> str | None:
        made = problem.mask[0] * config["THREAD_ROWS"] * _VECTOR
        if made > _MOST_OPEN:
            return f"{made} open sums a thread, at most {_MOST_OPEN}"
        rows = self.front(problem, config)[0] + problem.mask[1]
        if rows * problem.size[2] > _MOST_IN_PATCH:
            return f"{rows} rows of {problem.size[2]}: places within a patch have 32 bits"
        if problem.mask[2] > _WIDEST:
            return f"a mask of {problem.mask[2]} columns, at most {_WIDEST}"
        return super().invalid(problem, config)

    def front(self, problem: Any, config: Config) -> tuple[int, int]:
        """Rows and columns of the block's threads."""
        return config["THREADS_Y"] * config["THREAD_ROWS"], config["THREADS_X"] * _VECTOR

    def further(self, problem: Any, config: Config) -> int:
        """Planes beneath the mask."""
        return int(problem.mask[0]) - 1

    def tile(self, problem: Any, config: Config) -> Tile:
        front = self.front(problem, config)
        sums = (self.segment(problem, config), *front)
        threads = 1, config["THREADS_Y"], config["THREADS_X"]
        return Tile(sums, threads, config["STAGES"] * stage_floats(problem, front))

    def unrolled(self, problem: Any, config: Config) -> int:
        """The taps of a plane, for all sums of a thread."""
        return taps_of(problem) * config["THREAD_ROWS"] * _VECTOR

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        aligned = problem.size[2] % _VECTOR == 0
        return {
            **super().macros(problem, config),
            "VECTOR": _VECTOR if aligned else 1,
            "VECTOR_STORES": int(aligned and problem.output_size == problem.size),
        }

    def accesses(self, problem: Any, config: Config) -> dict[str, Accesses]:
        """Each plane of a segment once, by copies; then the patch beneath a thread's sums in
        vectors, which take four passes a warp."""
        tile, covered = self.tile(problem, config), self.covered(problem)
        rows = tile.sums[1] + problem.mask[1] - 1
        planes = tile.sums[0] + self.further(problem, config)
        pitch = stage_floats(problem, tile.sums[1:]) // rows
        vector = _VECTOR if problem.size[2] % _VECTOR == 0 else 1
        loads = tile_loads(problem, covered, tile.sums, (planes, rows, pitch), vector=vector)
        threads = tile.thread_count
        whole = (pitch - tile.sums[2]) // _VECTOR + 1
        patch = config["THREAD_ROWS"] * whole
        # Of a star's rows above and below only the sums' own columns count.
        patch += (problem.mask[1] - 1) * (1 if problem.star else whole)
        warps = tiles_of(problem, covered, tile.sums) * warps_of(threads)
        reads = warps * planes * problem.channels * patch * _VECTOR
        one = loads + Accesses(shared_reads=reads)
        return {
            self.kernel(): times(one, problem.steps) + results(problem, problem.steps, tile.sums[2])
        }


def stage_floats(problem: VolumeProblem, front: tuple[int, int]) -> int:
    """Elements of a plane that sums of a front read, in rows that begin and end on 16 bytes."""
    left = before(problem.mask)[2]
    right = problem.mask[2] - 1 - left
    pitch = front[1] + sum(blocks(ghosts, _VECTOR) * _VECTOR for ghosts in (left, right))
    return (front[0] + problem.mask[1] - 1) * pitch
