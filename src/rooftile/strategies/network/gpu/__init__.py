"""The strategies of several layers of a network together, on GPUs."""
