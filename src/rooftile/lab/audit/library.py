"""Who does the work?  Libraries and processes behind a kernel, and clocks that it replaced.

The judge stops the kernel's process again and again and reads from outside whose code its threads
were running.  What the process tells of itself, clocks and PyTorch's operations, may be a lie, and
is looked at for the sake of those that do not lie: no clock of the process is ever used.
"""

from __future__ import annotations

import collections
import re
from dataclasses import dataclass
from pathlib import Path

from rooftile.lab.audit.channel import Answer
from rooftile.lab.audit.findings import Findings, plain_words
from rooftile.lab.audit.processes import ended_children, running_libraries
from rooftile.lab.audit.session import Session
from rooftile.lab.audit.speed import Speed
from rooftile.lab.peers.torch_module import peers_of

_FILES = re.compile(
    r"openblas|libblas|libcblas|libmkl|libblis|dnnl|onednn|pocketfft|_nd_image|_sigtools|"
    r"_fblas|_flapack|libfftw|onnxruntime|openvino|tensorflow|xla|accelerate|libarmpl|libnvpl",
    re.IGNORECASE,
)
"""Native libraries that compute what a kernel should compute itself."""
_OPERATIONS = re.compile(
    r"^aten::(_?conv|convolution|_convolution|thnn_|mkldnn_|cudnn_|miopen_|slow_conv|"
    r"(mm|addmm|bmm|baddbmm|matmul|linear|einsum|addmv|mv|dot|_softmax|softmax)(_out)?$|"
    r"max_pool|avg_pool|adaptive_|_fft|fft_|_scaled_dot)|"
    r"cudnn|cublas|cutlass|xmma|implicit_gemm|sgemm|hgemm|cufft|cusparse|^cu[a-z]+$",
)
"""PyTorch's operations that do the whole work or most of it, and names of vendors' kernels on a
GPU.  An operation adds its own in the ``ATEN`` of its ``peers``."""
_SECONDS, _BETWEEN_S = 0.4, 0.001
"""About how long calls are sampled, and the time from one sample to the next."""
_LONGER, _ENOUGH_SAMPLES = 6, 50
"""So many times longer, where there are fewer samples than these, or a library was seen, and not
often enough to be sure."""
_LEAST_SHARE, _LEAST_SAMPLES = 0.02, 2
"""A library does work from this share of the samples on, and from this number."""


@dataclass
class Inspection:
    """Looks at one kernel that was right."""

    session: Session
    findings: Findings
    allowed: bool
    """Whether vendor libraries may do the work."""

    def __post_init__(self) -> None:
        self.started = ended_children(self.session.child.pid)

    def look(self, speed: Speed) -> None:
        """Look at it after it was timed."""
        told = self.session.child.ask({"do": "profile"})[0]
        assert self.session.problem is not None
        own = getattr(peers_of(self.session.problem.operation), "ATEN", None)
        operations = [
            name
            for name in words(told)
            if _OPERATIONS.search(name) or (own and re.fullmatch(f"aten::_?({own})(_out)?", name))
        ]
        self._processes(max(run.others for run in speed.runs))
        self._library(operations, speed)
        self._timers(words(self.session.child.ask({"do": "tell"})[0]))

    def _processes(self, others: int) -> None:
        started = ended_children(self.session.child.pid) - self.started
        if others:
            self.findings.failed("processes", f"{others} others lived on while it was timed")
        elif started > 0:
            self.findings.failed("processes", "others were started and ended while it was timed")
        else:
            self.findings.passed("processes")

    def _timers(self, replaced: list[str]) -> None:
        if replaced:
            self.findings.failed("timers", f"replaced: {', '.join(replaced)}")
        self.findings.passed("timers")

    def _library(self, operations: list[str], speed: Speed) -> None:
        found = ", ".join(operations[:5])
        try:
            samples = self._sample(speed)
        except OSError as error:
            samples, unseen = collections.Counter(), f"its threads cannot be read ({error})"
        else:
            unseen = ""
        total = sum(samples.values())
        vendors = {Path(name).name: n for name, n in samples.items() if _FILES.search(name)}
        share = sum(vendors.values()) / total if total else 0.0
        if sum(vendors.values()) >= _LEAST_SAMPLES and share >= _LEAST_SHARE:
            names = ", ".join(vendors)
            found = f"{100 * share:.0f} % of {total} samples ran in {names}" + (
                f"; it called {found}" if found else ""
            )
        elif found:
            found = f"it called {found}"
        if not found:
            if unseen and not total:
                self.findings.skipped("library", unseen)
            else:
                self.findings.passed("library", f"none in {total} samples of running threads")
        elif self.allowed:
            self.findings.passed("library", f"allowed: {found}")
        else:
            self.findings.failed("library", found)

    def _sample(self, speed: Speed) -> collections.Counter[str]:
        """The files whose code ran, over some tenths of a second of calls on new contents: to the
        process they are calls like any others."""
        child, counts, spent = self.session.child, collections.Counter[str](), 0.0
        while spent < _SECONDS or (spent < _LONGER * _SECONDS and _is_open(counts)):
            given = speed.contents()
            for slot, arrays in enumerate(given):
                self.session.write(slot, arrays)
                self.session.poison(slot)
            start = child.begin({"do": "run", "slots": list(range(len(given)))})
            while not child.answered(_BETWEEN_S):
                child.freeze()
                try:
                    counts.update(running_libraries(child.pid))
                finally:
                    child.go_on()
            spent += child.collect(start)[1]
        return counts


def _is_open(counts: collections.Counter[str]) -> bool:
    """Whether there are few samples, or few of vendors' libraries, so that more are wanted."""
    if counts.total() < _ENOUGH_SAMPLES:
        return True
    return 0 < sum(n for name, n in counts.items() if _FILES.search(name)) < 2 * _LEAST_SAMPLES


def words(told: Answer) -> list[str]:
    """The lines of a list that an untrusted process gave."""
    return [plain_words(one) for one in told.text.splitlines()]
