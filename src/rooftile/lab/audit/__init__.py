"""The judge of foreign kernels: no strategy of ours, but a stranger's function or text."""

from rooftile.lab.audit.findings import CHECKS, Check
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.audit.verdict import Audit, UnusableKernel, audit

__all__ = ["CHECKS", "Audit", "Check", "Foreign", "UnusableKernel", "audit"]
