"""CUDA texts on the host, under its sanitizers: a fiber for each thread of a block.

A text is preprocessed, its PTX instructions become calls of functions of ``shim.h`` with the same
operands, and the host's C++ compiler makes a program of it that loads its arrays from files. Every
array has just its own bytes, so that AddressSanitizer sees accesses outside of them;
ThreadSanitizer sees accesses of a block's threads that no barrier separates. Blocks run one after
another, and clusters of them are not emulated. The part that no kernel changes is compiled once, as
an object that every program is linked with.

- `translation`: C++ in place of constructs that only CUDA's compiler knows;
- `program`: the program, built and run.
"""

from rooftile.lab.emulation.program import Finding, NotCompiled, missing, run, shim, unwritten
from rooftile.lab.emulation.translation import translated

__all__ = ["Finding", "NotCompiled", "missing", "run", "shim", "translated", "unwritten"]
