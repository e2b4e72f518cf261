"""Compile the package's C code while a wheel or an editable installation is built.

Without a C compiler the wheel has no compiled code: the searches that use it are skipped, and everything else works.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

SOURCES = (
    Path("mlsched/solvers/taskgraph/plans/annealed_lists.c"),
    Path("plugins/mlsched_training/workers/compiled/plus_runs.c"),
)


class CompileSources(BuildHookInterface[Any]):
    """The hook that hatchling calls for each wheel; an editable installation counts as one."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the code; mark the wheel as one for this platform if that works."""
        self._built = Path(tempfile.mkdtemp())
        for source in (Path(self.root) / each for each in SOURCES):
            library = source.with_name(f"lib{source.stem}.so")
            if version == "editable":  # which uses the files where they are
                library.unlink(missing_ok=True)
                self._compiled(source, library)
            elif self._compiled(source, built := self._built / library.name):
                place = library.relative_to(self.root).as_posix().removeprefix("plugins/")
                build_data["force_include"][str(built)] = place
        if not build_data["force_include"]:
            return
        build_data["pure_python"] = False
        tags = list(platform_tags())
        platform = next((tag for tag in tags if tag.startswith("manylinux")), tags[0])
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder of the compiled code, which the wheel holds now."""
        shutil.rmtree(self._built)

    def _compiled(self, source: Path, library: Path) -> bool:
        """Compile a shared library for ctypes; return whether a compiler did so."""
        if sys.platform == "win32":
            return False
        compiler = shlex.split(os.environ.get("CC", "cc"))
        command = [*compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            return False
        if done.returncode:
            self.app.display_warning(f"mlsched: without compiled code: {done.stderr.strip()[-500:]}")
        return done.returncode == 0
