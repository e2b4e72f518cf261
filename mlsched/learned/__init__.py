"""Trained policies, one file per policy: `learned/<problem>/<policy>.py`; how they are trained: `training/`.

Answering needs NumPy and safetensors alone; torch is imported for training only.
"""
