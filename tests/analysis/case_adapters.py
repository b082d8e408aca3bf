"""From a case's inputs to the analysis room's answer, one adapter a kind."""

from __future__ import annotations

from . import cases_launch, cases_memory, cases_work
from .case_registry import ADAPTERS

TOPICS = (cases_launch, cases_memory, cases_work)
"""Each adds its adapters when it is imported."""

_VALUES = "asks for values that an operation computes, not for what they cost"
_OTHER_MODEL = "about OpenACC or MPI, which the package does not use"
_STATISTICS = "a count or a rate of one program's training, no property of a kernel"

SKIPPED: dict[str, str] = {
    "inclusive_scan": _VALUES,
    "exclusive_scan": _VALUES,
    "batched_scan": _VALUES,
    "letter_histogram": _VALUES,
    "conv1d_zero_pad": _VALUES,
    "separable_conv": _VALUES,
    "column_permute": _VALUES,
    "perceptron_xor": _VALUES,
    "training_calls": _STATISTICS,
    "accuracy_from_confusion": _STATISTICS,
    "openacc_executions": _OTHER_MODEL,
    "openacc_work_per_worker": _OTHER_MODEL,
    "mpi_vector_bytes": _OTHER_MODEL,
}
"""Kinds that concern no topic of the analysis room, with the reason."""

__all__ = ["ADAPTERS", "SKIPPED", "TOPICS"]
