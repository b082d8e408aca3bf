"""The published experiments, run again: each document's measurements, ours, and a verdict.

| module | holds |
| --- | --- |
| `figures` | the published numbers, each once, with document and place (data: `published/`) |
| `experiment` | what an experiment is, what it measures, and the verdicts that follow |
| `verdicts` | the rules that make a verdict of a published and a measured number |
| `timed` | rungs and calls, verified and timed |
| `catalogue` | all experiments, by name |

Every other module is one experiment.  It measures and it judges; judging takes nothing but a record
of measurements, so that a verdict can be repeated from the record.
"""
