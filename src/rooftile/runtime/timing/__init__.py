"""Timers of the host and of devices, for judges and for plans alike."""
