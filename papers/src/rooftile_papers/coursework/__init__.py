"""A class's way of working: labs with data sets, submissions graded on them, and a ranking.

| module | holds |
| --- | --- |
| `labs` | the labs by name, and how their files are read |
| `grading` | a submission, run in a process of its own on every data set, and compared |
| `ranking` | the best of all submissions in the history |
"""
