"""rooftile: convolutional networks and parallel patterns, up to the hardware's roof.

Importing this package compiles nothing, starts no thread, looks for no device and imports no NumPy:
a public name is imported on its first use (PEP 562).  ``functional/__init__.pyi`` lists the
functions, for `lazy_loader` and for type checkers; the other names are listed here and in
``__init__.pyi``.
"""

from lazy_loader import attach

from rooftile.functional import __all__ as _FUNCTIONS

_SUBMODULES = {"errors", "functional", "nn"}

__getattr__, __dir__, __all__ = attach(
    __name__,
    _SUBMODULES,
    {
        "_version": ["__version__"],
        "errors": [
            "CompileFailure", "DeviceMissing", "InputError", "OutOfMemory", "RooftileError",
            "RooftileWarning", "TrainingWarning", "UnsupportedProblem", "VerificationFailure",
        ],
        "functional": _FUNCTIONS,
        "nn": ["load"],
        "ops.operator": ["Operator"],
    },
)  # fmt: skip
# A star import brings what has names of its own, and no name as common as ``errors``.
__all__ = sorted({*__all__} - _SUBMODULES)
