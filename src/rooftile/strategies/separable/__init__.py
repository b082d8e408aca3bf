"""The strategies of `separable`."""
