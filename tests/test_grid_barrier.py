"""The example of a barrier of all blocks: its model, and that it refuses more than fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rooftile.devices.cuda.compile import compile_cubin, cuda_core
from rooftile.devices.gpu import Launch, prelude
from rooftile.errors import DeviceMissing, InputError
from rooftile.lab.emulation import missing
from rooftile.lab.emulation import run as emulate

TEXT = Path(__file__).parents[1] / "benchmarks" / "grid_barrier.cu"


@pytest.fixture(scope="module")
def example(benchmark_script):
    return benchmark_script("grid_barrier")


@pytest.mark.parametrize(
    ("blocks", "room", "waiting"), [(4, 4, 0), (1, 4, 0), (5, 4, 4), (9, 1, 1)]
)
def test_all_must_have_room(example, blocks, room, waiting):
    assert example.stuck(blocks, room) == waiting
    if not waiting:
        example.check(blocks, room)
        return
    with pytest.raises(InputError, match=f"{waiting} blocks would wait"):
        example.check(blocks, room)


def test_without_a_gpu_the_model_is_shown(example, capsys, monkeypatch):
    def missing_device():
        raise DeviceMissing("a GPU", "nothing")

    monkeypatch.setattr(example, "open_device", missing_device)
    example.main([])
    assert "529 blocks where 528 have room: 528 wait for ever" in capsys.readouterr().out


def test_the_text_compiles():
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    assert compile_cubin(TEXT.read_text(), {}, "sm_90")


@pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")
def test_one_block_meets_itself(tmp_path):
    arrays = {"now": np.array([7, 0], np.int32), "arrived": np.zeros(1, np.uint32)}
    started = [(Launch("pass_on", (1, 1, 1), (64, 1, 1)), ("now", "arrived", 5))]
    folder = tmp_path / "arrays"
    folder.mkdir()
    made = emulate(prelude() + TEXT.read_text(), (), started, arrays, folder)
    assert made["now"][1] == 7
    assert made["arrived"][0] == 5


def test_on_a_gpu(example, cuda_device):
    count = example.run(cuda_device)
    assert count >= cuda_device.description.units
    with pytest.raises(InputError, match="would wait"):
        example.run(cuda_device, count + 1)
