"""A barrier of all blocks of a grid, and why it needs all of them at a time.

    python benchmarks/grid_barrier.py [blocks]

What happens is shown by a model first, which needs no GPU; then the kernel runs on one, unless more
blocks are asked for than fit.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from rooftile.devices.cuda import CudaDevice, open_device
from rooftile.devices.gpu import Launch
from rooftile.errors import DeviceMissing, InputError

THREADS, ROUNDS = 256, 5


def stuck(blocks: int, room: int) -> int:
    """How many blocks wait for ever at a barrier of all, where so many have room at a time."""
    waiting, running, begun = 0, 0, 0
    while waiting < blocks:
        # A block begins where there is room, and keeps it: it cannot end before the barrier.
        if begun < blocks and running < room:
            begun, running = begun + 1, running + 1
            waiting += 1
        else:
            return waiting
    return 0


def blocks_that_fit(device: CudaDevice, program: object, launch: Launch) -> int:
    """Blocks of a kernel that all multiprocessors hold at a time."""
    description = device.description
    share = program.resources(launch).occupancy  # type: ignore[attr-defined]
    resident = round(share * (description.threads_per_unit or 0)) // launch.threads
    return int(resident * description.units)


def check(blocks: int, fit: int) -> None:
    """Raise `InputError` for more blocks than fit: they would wait for ever."""
    if blocks > fit:
        expected = f"at most {fit}: {stuck(blocks, fit)} blocks would wait for the others for ever"
        raise InputError("blocks", blocks, expected)


def run(device: CudaDevice, blocks: int | None = None) -> int:
    """Launch so many blocks, or as many as fit, and see that they have met.  Returns how many."""
    text = Path(__file__).with_suffix(".cu").read_text(encoding="utf-8")
    with device.on():
        program = device.compile(text, {})
        fit = blocks_that_fit(device, program, Launch("pass_on", (1, 1, 1), (THREADS, 1, 1)))
        count = fit if blocks is None else blocks
        check(count, fit)
        now = device.upload(np.concatenate([np.arange(count), np.zeros(count)]).astype(np.int32))
        arrived = device.upload(np.zeros(1, np.uint32))
        launch = Launch("pass_on", (count, 1, 1), (THREADS, 1, 1))
        program.launch(launch, now, arrived, np.int32(ROUNDS))
        made = np.empty(2 * count, np.int32)
        device.copy_out(now, made)
    passed = made[ROUNDS % 2 * count :][:count]
    assert (passed == (np.arange(count) + ROUNDS) % count).all()
    return count


def main(arguments: list[str]) -> None:
    """The model, then the kernel."""
    for blocks in (528, 529):
        waiting = stuck(blocks, 528)
        end = f"{waiting} wait for ever" if waiting else "all meet"
        print(f"{blocks} blocks where 528 have room: {end}")
    try:
        device = open_device()
    except DeviceMissing as error:
        print(f"no kernel: {error}")
        return
    count = run(device, int(arguments[0]) if arguments else None)
    print(f"{count} blocks met {ROUNDS} times")


if __name__ == "__main__":
    main(sys.argv[1:])
