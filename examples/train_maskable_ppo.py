"""Train a policy with an outside library on task graphs, and hold it against the proven optimum.

MaskablePPO of sb3-contrib learns to start tasks on instances that are drawn at random. It is then asked for plans of
instances that it has not seen; the judge recomputes them, and an exact solver proves how good the best plans are. The
excess of a plan is (total_jct - optimum) / optimum. Beside the policy stands a published rule, shortest remaining
processing time. After the few steps that are trained by default the policy is worse than that rule; after 25,000 it is
about as good (docs/guides/train.md has the numbers).

Needs: pip install 'mlsched[learn]' sb3-contrib
"""

import sys

import gymnasium
import numpy as np

import mlsched
import mlsched_training.environments

try:
    from sb3_contrib import MaskablePPO
except ImportError:
    MaskablePPO = None

gymnasium.register_envs(mlsched_training.environments)
SIZES = {"jobs": 3, "nodes": 2, "runs": 12}
#: Steps of training and unseen instances, both can be given: `python train_maskable_ppo.py 25000 10`.
STEPS, HELD_OUT = (int(text) for text in sys.argv[1:3]) if "".join(sys.argv[1:]).isdigit() else (256, 3)


def instances(seeds):
    """Instances of equal sizes, of which each leaves something to decide."""
    return [mlsched.generate("taskgraph", seed=seed, **SIZES) for seed in seeds]


def planned(model, env, number):
    """The plan that the policy makes of one of the environment's instances, its likeliest action at every step."""
    seen, _ = env.reset(options={"instance": number})
    over = False
    while not over:
        action, _ = model.predict(seen, action_masks=env.unwrapped.action_masks(), deterministic=True)
        seen, _, over, _, _ = env.step(int(action))
    return env.unwrapped.plan


def trained(steps):
    """The policy after so many steps."""
    training = gymnasium.make("mlsched/TaskGraph-v0", instances=instances(range(1000, 1200)), window=6)
    # Returns are minus the ticks that all jobs spend in the system: they count in full, in units near 1.
    training = gymnasium.wrappers.TransformReward(training, lambda ticks: ticks / 100)
    model = MaskablePPO("MlpPolicy", training, n_steps=256, batch_size=64, gamma=1.0, seed=0, device="cpu")
    return model.learn(steps)


def excesses(model, held_out):
    """Of the policy and of a rule, how far each plan of the unseen instances is above the optimum, as a share."""
    unseen = instances(range(held_out))
    env = gymnasium.make("mlsched/TaskGraph-v0", instances=unseen, window=6)
    excess = {"MaskablePPO": [], "srpt": []}
    for number, instance in enumerate(unseen):
        best = mlsched.solve(instance, "cp-sat", objective="total_jct", time_limit=20)
        policy = mlsched.solve(instance, lambda asked, *, rng, k=number: planned(model, env, k), objective="total_jct")
        rule = mlsched.solve(instance, "srpt", objective="total_jct")
        for name, result in (("MaskablePPO", policy), ("srpt", rule)):
            excess[name].append(result.gap_to(best).share)
    return excess


def main():
    if MaskablePPO is None:
        print("this example needs sb3-contrib: pip install sb3-contrib")
        return
    for name, shares in excesses(trained(STEPS), HELD_OUT).items():
        print(f"{name}: {100 * np.mean(shares):.1f} % above the optimum on average, {100 * max(shares):.1f} % at most")


if __name__ == "__main__":
    main()
