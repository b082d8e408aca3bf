"""Programs that a driver has built, kept in the user's cache.

PyOpenCL's own cache is not used: it waits for the lock that a killed process left, it is not made
for threads, and garbage in one of its files is an error of the call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rooftile._files import keep_sealed, sealed
from rooftile.devices.gpu import key_of


def built(
    cl: Any, context: Any, device: Any, source: str, options: Sequence[str], folder: Path | None
) -> Any:
    """A program of a source, for the context's only device; ``cl`` is PyOpenCL.

    Its binary is kept in the folder, unless that is None, or the driver keeps binaries itself.
    Raises PyOpenCL's ``RuntimeError`` with the compiler's log.
    """
    from pyopencl.characterize import has_src_build_cache

    if folder is None or has_src_build_cache(device):
        return cl.Program(context, source).build(list(options), cache_dir=False)
    driver = device.platform.version, device.name, device.version, device.driver_version
    path = folder / f"{key_of(source, *options, *driver)}.bin"
    if (binary := sealed(path)) is not None:
        # A driver may refuse what it built itself, on another processor or before an update.
        with contextlib.suppress(cl.Error):
            return cl.Program(context, [device], [binary]).build(list(options))
    program = cl.Program(context, source).build(list(options), cache_dir=False)
    keep_sealed(path, program.get_info(cl.program_info.BINARIES)[0])
    return program
