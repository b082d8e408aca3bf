"""How well: verification, measurement, ceilings, the ladder climbed."""
