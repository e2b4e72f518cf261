"""The command line in this process, and small files for it."""

from cli_fixtures import bounds_to_show, cli, edited, instance_file, own_cache, plan_file, pods

__all__ = ["bounds_to_show", "cli", "edited", "instance_file", "own_cache", "plan_file", "pods"]
