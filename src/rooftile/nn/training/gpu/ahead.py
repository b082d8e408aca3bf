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
    tested: int,
    size: tuple[int, int],
) -> None:
    """Compile what a training with images uint8[count, *size] and their labels will launch, and
    what tells the outputs of ``tested`` images behind it.

    The compiler's results are kept on disk, where the training finds them, or waits for those that
    are on their way.  Raises what `DeviceSteps` raises.
    """
    # So few images have the same batches: whole ones, and the same last one.
    whole = options.batch or count
    few = min(count, whole + count % whole)
    images, labels = np.zeros((few, *size), np.uint8), np.zeros(few, np.int64)
    test = np.zeros((options.batch or tested, *size), np.uint8)
    # Neither is begun when the training tries its ways to start, which others would disturb.
    outputs = Outputs(network, test, options, device)
    DeviceSteps(network, images, labels, options, device).compile()
    outputs.compile()
