"""The judge of foreign kernels: no strategy of ours, but a stranger's function or text."""

from rooftile.lab.audit.findings import CHECKS, HONESTY, Check, plain_words
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.audit.outcome import Audit
from rooftile.lab.audit.verdict import NotIsolated, UnusableKernel, audit

__all__ = [
    "CHECKS",
    "HONESTY",
    "Audit",
    "Check",
    "Foreign",
    "NotIsolated",
    "UnusableKernel",
    "audit",
    "plain_words",
]
