"""The strategies of whole parts of a network on GPUs."""
