"""Published experiments run again, and a course's labs: a user of `rooftile` like any other."""
