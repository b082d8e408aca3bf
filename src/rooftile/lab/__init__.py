"""The laboratory: verification, measurement, ceilings, climbs."""
