"""Trained policies, one file a policy: `learned/<problem>/<policy>.py`. None is registered yet."""
