"""Rules for `preemption` that do what no rule should, at the top level of a module, as a process of their own needs it.

Those that end, fill or outlive their process are only ever called isolated.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from mlsched.core.registry import registry
from mlsched.instances.preemption import Plan


def right(instance, *, rng):
    """What FIFO does: a good rule."""
    return registry().solvers["preemption", "fifo"].function(instance, rng=rng)


def exits(instance, *, rng):
    os._exit(0)


def leaves(instance, *, rng):
    sys.exit(0)


def crashes(instance, *, rng):
    ctypes.string_at(0)


def hangs(instance, *, rng):
    while True:
        pass


def hoards(instance, *, rng):
    return bytearray(10**10)


def prints(instance, *, rng):
    print("said by the rule", flush=True)  # noqa: T201
    os.write(1, b"written by the rule\n")
    return right(instance, rng=rng)


def says(instance, *, rng):
    print("said by the rule")  # noqa: T201
    return right(instance, rng=rng)


def tells(instance, *, rng):
    """Its process, then nothing ever after."""
    os.write(2, b"%d\n" % os.getpid())
    hangs(instance, rng=rng)


def forks(instance, *, rng):
    """Both processes come back from it."""
    os.fork()
    return right(instance, rng=rng)


def leaves_a_child(instance, *, rng):
    """A grandchild in a session of its own, whose number is written down."""
    script = "import os, time\nif os.fork(): os._exit(0)\nos.write(1, b'%d\\n' % os.getpid())\ntime.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", script], start_new_session=True, stdout=subprocess.PIPE)
    with Path(os.environ["MLSCHED_TEST_PLACE"]).open("ab") as file:
        file.write(child.stdout.readline())
    return right(instance, rng=rng)


def leaves_a_thread(instance, *, rng):
    threading.Thread(target=hangs, args=(instance,), kwargs={"rng": rng}).start()
    return right(instance, rng=rng)


def cheats(instance, *, rng):
    instance.te_demand.flags.writeable = True
    instance.te_demand[:] = 0
    instance.te_demand.flags.writeable = False
    return right(instance, rng=rng)


def rewrites_the_judge(instance, *, rng):
    type(instance).violations = lambda self, plan: []
    type(instance).evaluate = lambda self, plan: {o.name: 0 for o in self.objectives}
    return Plan(te_node=[0] * len(instance.te_demand), victims=[])


def answers_text(instance, *, rng):
    return "a plan"


def remembers(instance, *, memory, rng):
    """A stateful rule: how often it was called, and by how many processes."""
    memory = memory or {"calls": 0, "processes": []}
    pid = os.getpid()
    processes = sorted({*memory["processes"], pid})
    return right(instance, rng=rng), {"calls": memory["calls"] + 1, "processes": processes}


def stops_its_parent(instance, *, rng):
    """The process that would end it, by a signal that cannot be refused."""
    os.kill(os.getppid(), signal.SIGSTOP)
    hangs(instance, rng=rng)


def stops_its_parent_and_answers(instance, *, rng):
    os.kill(os.getppid(), signal.SIGSTOP)
    return right(instance, rng=rng)


def stops_its_parent_again_and_again(instance, *, rng):
    """By a process in a session of its own, which begins before this goes on."""
    loop = "import os, sys\nprint()\nsys.stdout.flush()\nwhile True: os.kill(int(sys.argv[1]), 19)"
    child = subprocess.Popen(
        [sys.executable, "-c", loop, str(os.getppid())], stdout=subprocess.PIPE, start_new_session=True
    )
    child.stdout.readline()
    return right(instance, rng=rng)


def stops_the_server(instance, *, rng):
    """The parent of its parent."""
    status = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    os.kill(int(status[1]), signal.SIGSTOP)
    return right(instance, rng=rng)


class Speechless(BaseException):
    """An exception whose text fails."""

    def __str__(self):
        raise KeyError("no text")


def raises_without_words(instance, *, rng):
    raise Speechless


def floods(instance, *, rng):
    """Two megabytes and an escape code."""
    os.write(1, b"\x1b[2Jbegin\n")
    for _ in range(32):
        os.write(2, b"x" * 2**16)
    return right(instance, rng=rng)
