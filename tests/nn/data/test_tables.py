from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn.data import (
    Standardisation,
    Table,
    from_arrays,
    read_csv,
    read_idx_pair,
    read_npz,
    read_table,
)
from rooftile.nn.data.idx import idx_bytes

TEXT = "a;kind;b\n1.5;0;2\n\n-3;2;4e1\n0;1;-0.25\n"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("label", [1, -2, "kind"])
def test_a_csv_with_a_header_and_its_label_anywhere(tmp_path, label):
    path = write(tmp_path / "t.csv", TEXT)
    table = read_csv(path, delimiter=";", header=True, label=label)
    np.testing.assert_array_equal(table.features, [[1.5, 2], [-3, 40], [0, -0.25]])
    np.testing.assert_array_equal(table.labels, [0, 2, 1])
    assert (len(table), table.classes, table.source) == (3, 3, str(path))


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("1,2,0\n3,x,1\n", {}, r"line 2, column 2: got 'x'; expected a number"),
        ("1,2,0\n3,1\n", {}, r"line 2: got 2 columns; expected 3"),
        ("1,2,0\n\n3,4,0.5\n", {}, r"line 3, column 3: got a label of 0.5"),
        ("1,2,0\n3,4,-1\n", {}, r"line 2, column 3: got a label of -1"),
        ("1,nan,0\n", {}, r"line 1, column 2: got 'nan'"),
        ("", {}, "no rows"),
        ("a,b\n", {"header": True}, "no rows"),
        ("1,0\n", {"label": 5}, "label: got 5"),
        ("1,0\n", {"label": "kind"}, "no header"),
        ("1,0\n", {"delimiter": ",,"}, "delimiter"),
        ("7\n", {}, "label"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_column(tmp_path, text, words, message):
    with pytest.raises(InputError, match=message):
        read_csv(write(tmp_path / "t.csv", text), **words)


def test_a_missing_file_is_named(tmp_path):
    for read in (read_csv, read_npz):
        with pytest.raises(InputError, match=r"none\.csv"):
            read(tmp_path / "none.csv")


def test_npz_idx_and_arrays(tmp_path):
    x, y = np.arange(12.0).reshape(3, 4), np.array([1, 0, 1])
    np.savez(tmp_path / "t.npz", x=x, y=y)
    for table in (read_table(tmp_path / "t.npz"), from_arrays(x.astype(np.float32), y)):
        np.testing.assert_array_equal(table.features, x)
        np.testing.assert_array_equal(table.labels, y)
    np.savez(tmp_path / "other.npz", x=x)
    with pytest.raises(InputError, match="'y'"):
        read_npz(tmp_path / "other.npz")
    images = np.arange(2 * 3 * 2, dtype=np.uint8).reshape(2, 3, 2)
    (tmp_path / "i").write_bytes(idx_bytes(images))
    (tmp_path / "l").write_bytes(idx_bytes(np.array([1, 0], np.uint8)))
    table = read_idx_pair(tmp_path / "i", tmp_path / "l")
    np.testing.assert_array_equal(table.features, images.reshape(2, 6) / 255)
    with pytest.raises(InputError):
        from_arrays(x, y[:2])
    with pytest.raises(InputError, match="NaN"):
        Table(np.array([[np.nan]]), np.array([0]), "here")


def test_arrays_of_pytorch():
    torch = pytest.importorskip("torch")
    table = from_arrays(torch.ones(2, 3), torch.tensor([0, 1]))
    assert table.features.shape == (2, 3)


def test_standardisation_is_learnt_from_the_training_part_only():
    train = np.array([[1.0, 5], [3, 5]])
    standardise = Standardisation.of(train)
    np.testing.assert_array_equal(standardise(train), [[-1, 0], [1, 0]])
    np.testing.assert_array_equal(standardise(np.array([[4.0, 6]])), [[2, 1]])
