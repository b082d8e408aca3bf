"""How fast: ceilings, contests, climbs, tunings, and the history of what was measured."""
