"""The machine that an answer was computed on."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
from pathlib import Path


@functools.cache
def machine() -> str:
    """The machine in words: "Linux x86_64, 2 CPUs, Intel(R) Xeon(R) Processor"."""
    model = platform.processor()
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open() as stream:  # Linux's platform.processor() is empty
        model = next((line.partition(":")[2].strip() for line in stream if line.startswith("model name")), model)
    return ", ".join(filter(None, [f"{platform.system()} {platform.machine()}", f"{os.cpu_count()} CPUs", model]))
