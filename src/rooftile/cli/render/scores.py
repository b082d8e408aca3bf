"""A network's scores on labelled samples: confusion matrix, or the error of a regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rooftile.cli.render.networks import percent_of
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rooftile.nn import Interface
    from rooftile.nn.training.scores import Fit, Scores

_MOST_CLASSES = 20
"""A matrix of more classes is not printed: the most frequent mistakes are."""
_WORDY = 4
"""Number of classes up to which headings are words."""
_MISTAKES = 10


def judge(interface: Interface, labels: NDArray[Any], outputs: NDArray[Any]) -> Scores | Fit:
    """The scores of outputs[n, ...] against labels[n], or against targets[n, outputs]."""
    from rooftile.nn.training.scores import Fit, Scores

    if interface.regression:
        return Fit.of(labels, outputs)
    classes = max(interface.classes, int(labels.max()) + 1)
    return Scores.of(labels, interface.labels(outputs), classes)


def judged_json(found: Scores | Fit) -> dict[str, Any]:
    """The same as plain numbers; of a regression there is no accuracy.  (``precision`` is the word
    of several commands for what is computed in.)"""
    from rooftile.nn.training.scores import Fit

    if isinstance(found, Fit):
        return {"accuracy": None, "mean_squared_error": found.mean_squared_error, "r2": found.r2}
    labels = range(len(found.confusion))
    return {
        "accuracy": found.accuracy,
        "confusion": found.confusion.tolist(),
        "class_precision": [found.precision(label) for label in labels],
        "class_recall": [found.recall(label) for label in labels],
    }


def judged_line(found: Scores | Fit, what: str) -> str:
    """The line that gives the network's score and the number of images or rows."""
    from rooftile.nn.training.scores import Fit

    if isinstance(found, Fit):
        r2 = "-" if found.r2 is None else f"{found.r2:.4f}"
        error = f"mean squared error {found.mean_squared_error:.6g}"
        return f"{error}, R² {r2} of {found.total:,} {what}"
    return f"accuracy {percent_of(found.accuracy)} of {found.total:,} {what}"


def judged_sheet(found: Scores | Fit, name: Callable[[int], str]) -> Sheet | None:
    """The confusion matrix with precision and recall, a row an actual class; of very many classes
    the most frequent mistakes; of a regression nothing."""
    from rooftile.nn.training.scores import Fit

    if isinstance(found, Fit):
        return None
    classes = len(found.confusion)
    if classes > _MOST_CLASSES:
        return _mistakes(found, name)
    wordy = classes <= _WORDY
    headings = [f"predicted {label}" if wordy else str(label) for label in range(classes)]
    first = "actual" if wordy else "actual, and as what"
    shares = ("precision", "recall")
    sheet = Sheet(first, *headings, *shares, numbers=(*headings, *shares))
    for label in range(classes):
        own = name(label)
        title = str(label) if own in (str(label), f"class {label}") else f"{label} {own}"
        values = (found.precision(label), found.recall(label))
        cells = ("-" if value is None else percent_of(value) for value in values)
        sheet.add_row(title, *map(str, found.confusion[label]), *cells)
    return sheet


def _mistakes(found: Scores, name: Callable[[int], str]) -> Sheet:
    import numpy as np

    wrong = found.confusion.copy()
    np.fill_diagonal(wrong, 0)
    sheet = Sheet("actual", "predicted", "times", numbers=["times"])
    for place in np.argsort(-wrong, axis=None, kind="stable")[:_MISTAKES]:
        actual, predicted = divmod(int(place), len(wrong))
        if wrong[actual, predicted]:
            sheet.add_row(name(actual), name(predicted), str(wrong[actual, predicted]))
    return sheet
