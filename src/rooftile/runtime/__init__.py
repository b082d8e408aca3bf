"""Who runs: the choice of a strategy, arguments, arrays, timers.  It measures nothing by itself
and knows nothing of those who judge."""
