"""The laboratory: verification, measurement, ceilings, climbs."""

from rooftile._moved import moved

moved(
    __name__,
    climb="rooftile.lab.measure.climb",
    history="rooftile.lab.measure.history",
    records="rooftile.lab.measure.records",
    report="rooftile.lab.show.report",
)
moved(f"{__name__}.history", store="rooftile.lab.measure.history.store")
