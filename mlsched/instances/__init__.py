"""The questions: a sub-package per problem (instance, judge, generator, strategies), and the readers of real traces."""
