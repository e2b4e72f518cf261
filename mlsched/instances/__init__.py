"""The questions: one sub-package a problem (instance, judge, generator, strategies), and the readers of real traces."""
