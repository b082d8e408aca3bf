"""Two convolution blocks of a network in one kernel."""
