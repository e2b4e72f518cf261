"""CPU time counts the processes that were waited for."""

from __future__ import annotations

import subprocess
import sys
import time

from mlsched.core.clock import cpu_time


def test_cpu_time_counts_this_process_and_those_it_waited_for():
    before, alone = cpu_time(), time.process_time()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.15: pass"], check=True)
    own = time.process_time() - alone
    assert cpu_time() - before >= own + 0.12
