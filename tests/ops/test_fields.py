"""Fields as records hold them: records from before a later field are of the same problem."""

from __future__ import annotations

from rooftile.ops import Conv2d, Pool
from rooftile.ops.fields import fields_of


def test_later_fields_are_there_where_they_say_something():
    before = {"kind": "max", "window": (2, 2), "stride": (2, 2)}
    assert fields_of(Pool.of("max", 2)) == before
    assert fields_of(Pool.of("max", 2, activation="relu")) == {**before, "activation": "relu"}
    usual = fields_of(Conv2d(1, 1, 9, 8, 2, (3, 3), pool=Pool.of("max", 2)))
    assert usual["pool"] == before
    assert (usual["padding"], "boundary" in usual) == ((0, 0), False)
    other = fields_of(Conv2d(1, 1, 9, 8, 2, (3, 3), padding=(1, 1), boundary="replicate"))
    assert other["boundary"] == "replicate"
