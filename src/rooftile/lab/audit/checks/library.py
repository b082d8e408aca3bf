"""Libraries and processes that do a kernel's work, and clocks that it replaced.

The judge stops the kernel's process again and again and reads from outside whose code its threads
were running. The process's own report, on clocks and PyTorch's operations, may be false, and is
read for honest kernels' sake: no clock of the process is ever used.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from rooftile.lab.audit.checks.speed import Speed
from rooftile.lab.audit.findings import Findings, plain_words
from rooftile.lab.audit.isolation.processes import ended_children
from rooftile.lab.audit.process.channel import Answer
from rooftile.lab.audit.process.lookout import LEAST_SAMPLES, LEAST_SHARE, Lookout
from rooftile.lab.audit.process.session import Session
from rooftile.lab.measure.peers.torch_module import peers_of

_OPERATIONS = re.compile(
    r"conv.*|thnn_.*|mkldnn_.*|mkl_.*|cudnn_.*|miopen_.*|slow_conv.*|nnpack.*|xnnpack.*|"
    r"(sparse_|chain_|int_|scaled_)?(mm|matmul)|addmm(_activation)?|s?addmm|sspaddmm|v?dot|inner|"
    r"bmm|baddbmm|addbmm|linear|bilinear|einsum|tensordot|addmv|mv|linalg_(?!vector_norm).*|"
    r"(log_)?softmax|.*int\d*pack_mm.*|(max|avg)_pool.*|adaptive_.*|fft_.*|stft|lstm.*|gru.*|"
    r"scaled_dot.*|(native_)?(batch|layer|group)_norm.*"
)
"""PyTorch's operations that do the whole work or most of it, without their ending in place or with
``out``.  An operation adds its own in the ``ATEN`` of its ``peers``."""
_NAMESPACES = re.compile(
    r"mkldnn.*|onednn|_?quantized.*|prepacked|xnnpack|mkl|cudnn|fbgemm.*|sparse|metal|vulkan|"
    r"torchvision|torch_ipex|ipex|flash_attn.*|xformers.*|nnapi|torchao|cutlass"
)
"""Namespaces of operations that are all libraries'."""
_KERNELS = re.compile(
    r"cudnn|cublas|cutlass|xmma|implicit_gemm|sgemm|hgemm|cufft|cusparse|^cu[a-z]+$"
)
"""Names of vendors' kernels on a GPU."""
MOST_REQUESTS, _MOST_S = 200, 15.0
"""More requests are looked into at the end where too little was seen, but no more than these, and
for no more seconds."""


@dataclass
class Inspection:
    """Looks at one kernel that was right."""

    session: Session
    findings: Findings
    allowed: bool
    """True if vendor libraries may do the work."""

    def __post_init__(self) -> None:
        self.started = ended_children(self.session.child.pid)

    def look(self, speed: Speed) -> None:
        """Look at it after it was timed, and was looked into among the timed calls."""
        end = time.monotonic() + _MOST_S
        for _ in range(MOST_REQUESTS):
            if time.monotonic() > end or speed.lookout.unseen or not speed.lookout.is_open():
                break
            speed.look_into()
        # Only now is it told that somebody looks.
        told = self.session.child.ask({"do": "profile"})[0]
        assert self.session.problem is not None
        own = getattr(peers_of(self.session.problem.operation), "ATEN", None)
        operations = [name for name in words(told) if does_the_work(name, own)]
        self._processes(max(run.others for run in speed.runs))
        self._library(operations, speed.lookout)
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

    def _library(self, operations: list[str], lookout: Lookout) -> None:
        found = ", ".join(operations[:5])
        total, vendors = lookout.counts.total(), lookout.vendors()
        share = sum(vendors.values()) / total if total else 0.0
        if sum(vendors.values()) >= LEAST_SAMPLES and share >= LEAST_SHARE:
            names = ", ".join(vendors)
            found = f"{100 * share:.0f} % of {total} samples ran in {names}" + (
                f"; it called {found}" if found else ""
            )
        elif found:
            found = f"it called {found}"
        if not found:
            if lookout.unseen and not total:
                self.findings.skipped("library", lookout.unseen)
            else:
                self.findings.passed("library", f"none in {total} samples of running threads")
        elif self.allowed:
            self.findings.passed("library", f"allowed: {found}")
        else:
            self.findings.failed("library", found)


def does_the_work(name: str, own: str | None) -> bool:
    """Whether what PyTorch's profiler or CuPy names is a vendor's: an operation with its namespace,
    or a kernel of a GPU.  ``own`` are the operations that do the whole of the problem's."""
    namespace, colons, operation = name.partition("::")
    if colons and re.fullmatch(r"\w+", namespace):
        base = re.sub(r"(_out)?_?(\.\w+)?$", "", operation.removeprefix("_"))
        if namespace == "aten":
            return bool(
                _OPERATIONS.fullmatch(base) or (own and re.fullmatch(f"_?({own})", f"_{base}"))
            )
        return bool(_NAMESPACES.fullmatch(namespace))
    return bool(_KERNELS.search(name))


def words(told: Answer) -> list[str]:
    """The lines of a list that an untrusted process gave."""
    return [plain_words(one) for one in told.text.splitlines()]
