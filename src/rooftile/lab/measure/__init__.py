"""Speed: ceilings, contests, climbs, tunings, and the history of measurements."""
