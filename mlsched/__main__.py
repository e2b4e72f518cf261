"""`python -m mlsched`: the command line."""

from mlsched.cli import main

main()
