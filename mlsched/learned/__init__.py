"""Trained policies, one file per policy: `learned/<problem>/<policy>.py`.

Policies need NumPy and safetensors; torch is imported only for training (`training/`).
"""
