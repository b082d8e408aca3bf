"""The milestone report's proof, the accuracy of its network, at every precision, and what it
hides."""

from __future__ import annotations

from typing import cast

import numpy as np

from rooftile import nn
from rooftile.devices.select import DeviceName
from rooftile.errors import RooftileError
from rooftile.nn.data import load_images
from rooftile.ops import Precision
from rooftile_papers.reproduce.experiment import Log, Setting

_PRECISIONS: tuple[Precision, ...] = ("ieee", "tf32", "fp16")


def measure_accuracy(log: Log, setting: Setting, batches: tuple[int, ...]) -> None:
    """The share of images that a network of the report's layers classifies rightly, with weights of
    ours, and the scores' distance from float32 arithmetic's."""
    network, device = nn.load("lenet5"), cast("DeviceName", setting.device)
    images = load_images()
    kind = setting.gpu.kind if setting.gpu else "cpu"
    for batch in (one for one in batches if one <= len(images)):
        x = network.prepare(images.images[:batch])
        exact = None
        for precision in _PRECISIONS if kind == "cuda" else _PRECISIONS[:1]:
            try:
                plan = network.plan(device=device, batch=batch, precision=precision)
                scores = np.asarray(plan(x))
            except RooftileError as error:
                log.check(f"{precision} of {batch} runs", False, str(error))
                continue
            exact = scores if exact is None else exact
            right = float((scores.argmax(axis=1) == images.labels[:batch]).mean())
            log.number(f"accuracy of {batch}, {precision}", right, "", "accuracy")
            if precision != "ieee":
                far = float(np.abs(scores - exact).max())
                name = f"scores of {batch}, {precision}, largest difference"
                log.number(name, far, "", "accuracy")
    if len(images) < max(batches):
        log.notes.append(f"accuracy is that of {len(images):,} images at most: a sample is shipped")
