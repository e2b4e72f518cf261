"""Description of the machine that computed an answer."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
from pathlib import Path


@functools.cache
def machine() -> str:
    """Describe the machine: "Linux x86_64, 2 CPUs, Intel(R) Xeon(R) Processor"."""
    model = platform.processor()
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open() as stream:  # platform.processor() is empty on Linux
        model = next((line.partition(":")[2].strip() for line in stream if line.startswith("model name")), model)
    return ", ".join(filter(None, [f"{platform.system()} {platform.machine()}", f"{os.cpu_count()} CPUs", model]))
