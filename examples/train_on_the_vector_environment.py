"""Train a policy of your own on the batched simulation of the workers problem, with a plain loop.

36 episodes run side by side in one `gymnasium.vector.VectorEnv`; any reinforcement-learning library that takes one
could stand in place of the loop. The policy is linear: a score for every action from the observation, and a softmax
over the actions that the mask allows. It learns by REINFORCE: an action is credited with the reward from it to the
end of the episode, against the mean over the episodes at the same step.

Needs gymnasium: pip install 'mlsched[learn]'
"""

import gymnasium
import numpy as np

import mlsched_training.environments

gymnasium.register_envs(mlsched_training.environments)
EPISODES, ITERATIONS, RATE = 36, 8, 1.0


def softmax(scores, mask):
    scores = np.where(mask, scores, -np.inf)
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


def main():
    envs = gymnasium.make_vec("mlsched/Workers-v0", num_envs=EPISODES, jobs=6, rate=3.0, p1=0.0, p2=0.0)
    rng = np.random.default_rng(0)
    size, actions = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
    weights = np.zeros((size, actions))
    for iteration in range(1, ITERATIONS + 1):
        seen, info = envs.reset(seed=1000 * iteration)
        running, steps, completion = np.ones(EPISODES, dtype=bool), [], np.zeros(EPISODES)
        while running.any():
            chances = softmax(seen @ weights, info["action_mask"].astype(bool))
            action = (chances.cumsum(axis=1) > rng.random((EPISODES, 1))).argmax(axis=1)
            before = seen
            seen, reward, done, _, info = envs.step(action)
            steps.append((before, action, chances, reward * running, running.copy()))
            ended = running & done
            if ended.any():
                completion[ended] = info["average_completion_s"][ended]
            running &= ~done
        togo, change = np.zeros(EPISODES), np.zeros_like(weights)
        for before, action, chances, reward, alive in reversed(steps):
            togo += reward
            credit = np.where(alive, togo - togo[alive].mean(), 0.0)
            taken = np.eye(actions)[action] - chances  # gradient of the log of the chance of the action taken
            change += before.T @ (taken * credit[:, None])
        weights += RATE * change / max(1e-9, np.linalg.norm(change))
        print(f"iteration {iteration}: average completion time {completion.mean():.0f} s")


if __name__ == "__main__":
    main()
