"""Who does the work?  Libraries and processes behind a kernel, and clocks that it replaced.

The kernel's process tells what it imported and called.  It may lie; so the judge also stops
it again and again and reads from outside whose code its threads were running.
"""

from __future__ import annotations

import collections
import re
from dataclasses import dataclass
from pathlib import Path

from rooftile.lab.audit.child import running_libraries
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.session import Session
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
_SECONDS, _BETWEEN_S = 0.4, 0.002
"""About how long calls are sampled, and the time from one sample to the next."""
_LEAST_SHARE, _LEAST_SAMPLES = 0.02, 2
"""A library does work from this share of the samples on, and from this number."""
_MOST_CALLS = 100_000
"""Calls in the request that is sampled."""


@dataclass
class Inspection:
    """Looks at one kernel that was right."""

    session: Session
    findings: Findings
    allowed: bool
    """Whether vendor libraries may do the work."""

    def look(self, call_s: float) -> None:
        """``call_s``: about how long a call takes."""
        told = self.session.child.ask({"do": "inspect"})
        assert self.session.problem is not None
        own = getattr(peers_of(self.session.problem.operation), "ATEN", None)
        operations = [
            name
            for name in strings(told.get("operations"))
            if _OPERATIONS.search(name) or (own and re.fullmatch(f"aten::_?({own})(_out)?", name))
        ]
        called = strings(told.get("rooftile"))
        told = self.session.child.ask({"do": "tell"})
        self._reference(called, strings(told.get("imports")))
        self._processes(strings(told.get("processes")))
        self._timers(strings(told.get("timers")))
        self._library(operations, call_s)

    def _reference(self, called: list[str], imported: list[str]) -> None:
        reference = [name for name in called if name.startswith("ops/")]
        if reference:
            self.findings.failed("reference", f"it calls rooftile's own: {', '.join(reference)}")
        elif "rooftile" in imported and not self.allowed:
            self.findings.failed("reference", "it imports rooftile, the judge's own package")
        else:
            self.findings.passed("reference")

    def _processes(self, events: list[str]) -> None:
        # A kernel may call a compiler, also when it sees a shape for the first time.
        while_called = [event for event in events if event.endswith("while timed")]
        living = _children(self.session.child.pid)
        forked = [event for event in events if event.startswith("os.fork")]
        if while_called or forked:
            first = (while_called or forked)[0]
            self.findings.failed("processes", f"{first}; {living} others live")
        elif living:
            self.findings.failed("processes", f"{living} other processes live on between calls")
        else:
            self.findings.passed("processes")

    def _timers(self, replaced: list[str]) -> None:
        if replaced:
            self.findings.failed("timers", f"replaced: {', '.join(replaced)}")

    def _library(self, operations: list[str], call_s: float) -> None:
        found = ", ".join(operations[:5])
        try:
            samples = self._sample(call_s)
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

    def _sample(self, call_s: float) -> collections.Counter[str]:
        """The files whose code ran, over some tenths of a second of calls."""
        child, counts = self.session.child, collections.Counter[str]()
        repeat = max(1, min(_MOST_CALLS, round(_SECONDS / max(call_s, 1e-6))))
        child.begin({"do": "run", "slots": [0], "repeat": repeat})
        while not child.answered(_BETWEEN_S):
            child.freeze()
            try:
                counts.update(running_libraries(child.pid))
            finally:
                child.thaw()
        child.collect()
        return counts


def strings(told: object) -> list[str]:
    """A list of words that an untrusted process gave; empty if it gave something else."""
    return [str(one) for one in told] if isinstance(told, list) else []


def _children(pid: int) -> int:
    """Processes that a frozen process has started and that live."""
    count = 0
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        count += len(path.read_text(encoding="ascii").split())
    return count
