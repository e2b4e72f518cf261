"""Gymnasium environments: the worlds and questions of mlsched for anyone's reinforcement learning.

    import gymnasium, mlsched_training.environments

    gymnasium.register_envs(mlsched_training.environments)  # says to linters that the import does something
    env = gymnasium.make("mlsched/Workers-v0", rate=1.8)
    envs = gymnasium.make_vec("mlsched/Workers-v0", num_envs=36)  # one batched simulation, not 36 environments

`info["action_mask"]` says which actions change something (1) and which do nothing (0); so does `action_masks()`, and
with `mask_observation=True` the observation itself. Each class's docstring has its actions and observations index by
index; `env.unwrapped.action_names` and `observation_names` spell them out. Needs the extra `learn`.
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
    """Make the environments known to Gymnasium; those that it knows already are left alone."""
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
