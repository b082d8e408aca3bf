"""The commands `reproduce`, `submit` and `ranking`, which `rooftile` lists once installed."""
