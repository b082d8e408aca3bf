"""The kernel language: a small typed part of Python, translated to LLVM.

A kernel is written as a Python function over flat arrays, integers, floats and explicit vectors,
with `for` over ranges, `while`, `if`, calls of other such functions, and nothing else.  `native`
marks one in a module; `source` takes one from generated text, where ``@apart`` before a function
has LLVM compile it by itself, which halves the time of compiling a large one.  The translation
writes LLVM's text directly, in a fraction of the time of Numba's front end, and machine code is
kept in the user's cache.

- `types`: types of values, and their layout in memory;
- `instructions`, `expressions`, `statements`: the translation;
- `functions`, `vector`: the functions that kernels call and that are not written in the language;
- `build`: from LLVM's text to code in memory, and the cache;
- `objects`: from a cached object file to code in memory, without LLVM;
- `program`: a kernel's text, what it imports, and its entry.
"""

from rooftile.devices.cpu.native.build import Passes
from rooftile.devices.cpu.native.program import Native, last_kernels, native, source, values_of

__all__ = ["Native", "Passes", "last_kernels", "native", "source", "values_of"]
