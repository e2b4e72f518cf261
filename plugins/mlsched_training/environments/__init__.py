"""Gymnasium environments: the simulators and problems of mlsched for reinforcement learning.

    import gymnasium, mlsched_training.environments

    gymnasium.register_envs(mlsched_training.environments)  # shows linters that the import has an effect
    env = gymnasium.make("mlsched/Workers-v0", rate=1.8)
    envs = gymnasium.make_vec("mlsched/Workers-v0", num_envs=36)  # one batched simulation, not 36 environments

`info["action_mask"]` marks actions with an effect (1) and without (0). `action_masks()` returns the same mask as
booleans, and with `mask_observation=True` it is part of the observation. The docstring of each class lists its actions
and observations by index; `env.unwrapped.action_names` and `observation_names` name them. The environments need the
extra `learn`.
"""

from __future__ import annotations

from mlsched.core.errors import InvalidInput

try:
    import gymnasium
except ImportError:
    raise InvalidInput(
        "the environments need gymnasium, which is not installed: pip install 'mlsched[learn]'"
    ) from None

WORKERS, PLACEMENT, TASKGRAPH = "mlsched/Workers-v0", "mlsched/Placement-v0", "mlsched/TaskGraph-v0"
HARMONY = "mlsched/Harmony-v0"
ROUNDS = "mlsched/TaskGraphRounds-v0"


def register() -> None:
    """Register the environments with Gymnasium, unless they are registered already."""
    home = __name__
    if WORKERS not in gymnasium.registry:
        gymnasium.register(
            WORKERS, entry_point=f"{home}.workers:WorkersEnv", vector_entry_point=f"{home}.workers:WorkersVectorEnv"
        )
    if PLACEMENT not in gymnasium.registry:
        gymnasium.register(PLACEMENT, entry_point=f"{home}.placement:PlacementEnv")
    if HARMONY not in gymnasium.registry:
        gymnasium.register(HARMONY, entry_point=f"{home}.harmony:HarmonyEnv")
    if TASKGRAPH not in gymnasium.registry:
        gymnasium.register(TASKGRAPH, entry_point=f"{home}.taskgraph:TaskGraphEnv")
    if ROUNDS not in gymnasium.registry:
        gymnasium.register(ROUNDS, entry_point=f"{home}.rounds:RoundsEnv")


register()
