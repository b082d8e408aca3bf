"""The code that a process runs: the process is stopped at drawn moments, and read from outside."""

from __future__ import annotations

import collections
import itertools
import operator
import random
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from rooftile.lab.audit.isolation.processes import running_code, running_libraries
from rooftile.lab.audit.process.child import Child
from rooftile.lab.audit.process.symbols import Symbols, symbols_of

FILES = re.compile(
    r"openblas|libblas|libcblas|libmkl|libblis|dnnl|onednn|pocketfft|_nd_image|_sigtools|"
    r"_fblas|_flapack|libfftw|onnxruntime|openvino|tensorflow|xla|accelerate|libarmpl|libnvpl|"
    r"/(scipy|sklearn|bottleneck|pandas|pyarrow|cv2|faiss|skimage|torchvision)/",
    re.IGNORECASE,
)
"""Native libraries, and packages with such, that compute what a kernel should compute itself."""
_MARKS = re.compile(
    r"(scipy_)?(cblas_)?[sdcz](gemm|gemv|dot|axpy|scal|syrk|trsm)_?(64_)?|openblas_\w+|"
    r"mkl_\w+|dnnl_\w+|fftwf?_(execute|plan)\w*|bli_\w+|LAPACKE_\w+",
    re.IGNORECASE,
)
_MOST_MARKS = 5
"""A file that defines more functions of these names is a copy of such a library."""
_INSIDE = re.compile(r"mkl_|dnnl|openblas|gemm|gemv|cblas|xnn_|fbgemm", re.IGNORECASE)
"""Functions of such libraries inside of PyTorch's, whose own operations its profiler names."""
_TORCH, _NUMPY = "libtorch", "_multiarray_umath"
_WHOLE = dict.fromkeys(("sort", "unique"), re.compile(r"sort|partition_|merge_|bitonic"))
"""By operation: functions of NumPy that do the whole of it.  All other functions of NumPy are the
words that a kernel is written in."""
_LOOKS = (4, 40)
"""Least and largest number of looks into a request."""
_BETWEEN_S = 0.001
"""Approximate seconds between the looks into a long request."""
ENOUGH, _SURE = 200, 4
"""Number of running threads after which looks are enough; and its multiple to be sure."""
SETTLES_S, _REST_S = 1.0, 0.01
"""Approximate seconds in which an idle pool of threads goes to sleep; and the time between looks at
it."""
QUIET = 3
"""Number of looks in a row that did not see it running after which it sleeps: it may just be asking
for the time."""
LEAST_SHARE, LEAST_SAMPLES = 0.02, 2
"""A library does work from this share of the threads on, and from this number."""


@dataclass
class Lookout:
    """Stops a process in the middle of its work, and sees whose code its threads run.

    A process may feel such a stop by a clock, but only once its threads have been seen.
    """

    child: Child
    counts: collections.Counter[tuple[str, int]] = field(default_factory=collections.Counter)
    """The files whose code ran, with the place in them, and how often."""
    unseen: str = ""
    """Why nothing could be seen."""
    arrays: str = "numpy"
    """Whose arrays the kernel takes, by its process's own word."""
    operation: str = ""

    def settle(self) -> None:
        """Let the process run unasked until no thread of it is in a vendor's library.

        A pool of threads spins for some 20 ms after its library was loaded, and would be seen
        although nobody calls it.  On a busy machine a process that is frozen except while it is
        asked gives such a thread no turn to go to sleep.  One that still runs in the end works.
        """
        end, quiet = time.monotonic() + SETTLES_S, 0
        try:
            while quiet < QUIET and time.monotonic() < end:
                seen = any(map(FILES.search, running_libraries(self.child.pid)))
                quiet = 0 if seen else quiet + 1
                self.child.thaw()
                time.sleep(_REST_S)
                self.child.freeze()
        except OSError as error:
            self.unseen = f"its threads cannot be read ({error})"

    def within(self, seconds: float) -> None:
        """Look into a request that was begun, at moments that are drawn from ``seconds``, the
        fewest that one took: a kernel that works in another way once it was looked at takes longer.
        """
        looks = int(min(max(seconds / _BETWEEN_S, _LOOKS[0]), _LOOKS[1]))
        moments = sorted(random.SystemRandom().uniform(0, seconds) for _ in range(looks))
        for pause in map(operator.sub, moments, [0.0, *moments]):
            if self.child.answered(pause):
                return
            self.child.freeze()
            try:
                self.counts.update(running_code(self.child.pid))
            except OSError as error:
                self.unseen = f"its threads cannot be read ({error})"
            finally:
                self.child.go_on()

    def is_open(self) -> bool:
        """True if few threads were seen; or some, but not clearly many, in vendors' libraries."""
        total, vendors = self.counts.total(), sum(self.vendors().values())
        unclear = 0 < vendors < max(2 * LEAST_SAMPLES, 2 * LEAST_SHARE * total)
        return total < ENOUGH or (unclear and total < _SURE * ENOUGH)

    def vendors(self) -> dict[str, int]:
        """Number of looks that saw each vendor's library."""
        found: collections.Counter[str] = collections.Counter()
        for (name, place), count in self.counts.items():
            if self._is_vendors(name, place):
                found[Path(name).name] += count
        return dict(found)

    def _is_vendors(self, name: str, place: int) -> bool:
        """Whether a place in a file is code of a vendor's: by the file's name, by the functions
        that it defines, or by the function that is there."""
        file = Path(name).name
        if file.startswith(_TORCH):
            return self.arrays != "torch" or bool(_INSIDE.search(self._function(name, place)))
        if file.startswith(_NUMPY):
            whole = _WHOLE.get(self.operation)
            return whole is not None and bool(whole.search(self._function(name, place)))
        return bool(FILES.search(name)) or self._is_copy(name)

    def _is_copy(self, name: str) -> bool:
        symbols = self._symbols(name)
        marks = filter(_MARKS.fullmatch, symbols.names if symbols else ())
        return len(list(itertools.islice(marks, _MOST_MARKS + 1))) > _MOST_MARKS

    def _function(self, name: str, place: int) -> str:
        symbols = self._symbols(name)
        return symbols.at(place) if symbols else ""

    def _symbols(self, name: str) -> Symbols | None:
        """Of a file as the process sees it, which may have files that nobody else does."""
        return symbols_of(Path(f"/proc/{self.child.pid}/root{name}")) or symbols_of(Path(name))
