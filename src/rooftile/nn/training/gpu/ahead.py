"""The kernels of a training, compiled before its data are there."""

from __future__ import annotations

import numpy as np

from rooftile.devices.select import DeviceName
from rooftile.nn.network import Network
from rooftile.nn.training.gpu.epochs import DeviceSteps
from rooftile.nn.training.gpu.forward import Outputs
from rooftile.nn.training.options import TrainingOptions


def compile_ahead(
    network: Network,
    options: TrainingOptions,
    device: DeviceName,
    count: int,
    size: tuple[int, int],
) -> None:
    """Compile what a training with images uint8[count, *size] and their labels will launch.

    The compiler's results are kept on disk, where the training finds them, or waits for those that
    are on their way.  Raises what `DeviceSteps` raises.
    """
    # So few images have the same batches: whole ones, and the same last one.
    whole = options.batch or count
    few = min(count, whole + count % whole)
    images, labels = np.zeros((few, *size), np.uint8), np.zeros(few, np.int64)
    DeviceSteps(network, images, labels, options, device).compile()


def compile_outputs_ahead(
    network: Network,
    options: TrainingOptions,
    device: DeviceName,
    tested: int,
    size: tuple[int, ...],
) -> None:
    """The same of what tells the outputs of images uint8[tested, *size] behind the training."""
    images = np.zeros((options.batch or tested, *size), np.uint8)
    Outputs(network, images, options, device).compile()
