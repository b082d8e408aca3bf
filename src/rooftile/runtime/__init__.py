"""The runtime: the choice of a strategy, arguments, arrays, calls, timers. It measures nothing by
itself and knows nothing of the laboratory."""
