"""A disk without room, for what this process writes."""

from __future__ import annotations

import contextlib
import resource
import sys


@contextlib.contextmanager
def room_for(nbytes):
    """No file can become larger than ``nbytes`` meanwhile.  Nor is bytecode kept, of which Python
    would leave the first ``nbytes`` to the processes that come after."""
    before, kept = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = kept
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
