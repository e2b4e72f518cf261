"""Public traces by name: their origin and licence, how to fetch them, and their sample traces.

Only `fetch` uses the network. A sample trace ships with the package: a few hundred drawn jobs in the format of its
trace (`measurements/make_samples.py`), for experiments and tests. It does not represent the trace.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName, did_you_mean
from mlsched.instances.traces.source import shown

SAMPLE, DATA = "sample:", "data:"
_SAMPLES = Path(__file__).parent / "samples"


@dataclass(frozen=True)
class File:
    """A file on the network: its address at a fixed commit, its size in bytes, and its expected SHA-256."""

    address: str
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """Return the last part of the address."""
        return self.address.rpartition("/")[2]


@dataclass(frozen=True)
class Public:
    """A public trace: the file of its jobs, the node list if it has one, and notes."""

    name: str
    jobs: File
    about: str
    licence: str
    cite: str
    nodes: File | None = None

    @property
    def files(self) -> tuple[File, ...]:
        """Return the files to fetch."""
        return (self.jobs,) if self.nodes is None else (self.jobs, self.nodes)


_GITHUB = "https://raw.githubusercontent.com"
_ALIBABA = f"{_GITHUB}/hkust-adsl/kubernetes-scheduler-simulator/8f3d6417353c5083c6d56617f255fadd8dc306bc/data/csv"
CATALOGUE: Mapping[str, Public] = {
    public.name: public
    for public in (
        Public(
            name="philly",
            jobs=File(
                f"{_GITHUB}/petuum/adaptdl/c793c7089bd307462686339d29707925c461f9a9/simulator/traces/philly.csv",
                3_444_496,
                "ebffb3dd1589bdf4e7bcd74496201c5ded1d557d498ee14f560463f37ec353da",
            ),
            about="Microsoft Philly, 82,247 jobs of 1 to 128 GPUs in 15 weeks of 2017; a filtered part of the log",
            licence="CC-BY-4.0 (data), carried by an Apache-2.0 repository",
            cite="Jeon et al., USENIX ATC 2019",
        ),
        Public(
            name="helios-venus",
            jobs=File(
                f"{_GITHUB}/mystous/gpu_scheduler/e432905d20fe6d73ff4d3c88f51881eb3d95feef/sim/helios_trace.csv",
                4_165_579,
                "dd044eace2854471dbb87b59d31efd7bba652cb782c039b5166e8a3ef2aaeae2",
            ),
            about="SenseTime Helios, cluster Venus, 125,303 jobs of 1 to 200 GPUs in half of 2020; four columns of it",
            licence="CC-BY-4.0 (HeliosData), adapted; the repository that carries it names no licence",
            cite="Hu et al., SC 2021",
        ),
        Public(
            name="alibaba-v2023",
            jobs=File(
                f"{_ALIBABA}/openb_pod_list_default.csv",
                575_468,
                "1ee7ed79c27a3b0861cda8ddba86a004c6aba904caafa329a76ae93ca63834a8",
            ),
            nodes=File(
                f"{_ALIBABA}/openb_node_list_gpu_node.csv",
                42_353,
                "2beca64b4d3dfa342036a34b56a495c6cef9225db836c81f541282cb1df320b5",
            ),
            about="Alibaba 2023, 8,152 pods with shares of GPUs and qualities of service, and 1,213 GPU nodes",
            licence="Apache-2.0",
            cite="Weng et al., USENIX ATC 2023",
        ),
    )
}


def public(name: str) -> Public:
    """Return the public trace of that name, or raise UnknownName."""
    if name not in CATALOGUE:
        names = ", ".join(CATALOGUE)
        raise UnknownName(f"unknown public trace {shown(name)}{did_you_mean(name, CATALOGUE)}; there are {names}")
    return CATALOGUE[name]


def folder() -> Path:
    """Return the folder of fetched traces: MLSCHED_CACHE, or mlsched/ in the user's folder of caches."""
    own = os.environ.get("MLSCHED_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mlsched"


def sample(name: str) -> Path:
    """Return the file of a trace's sample trace."""
    return _SAMPLES / f"{public(name).name}.csv.gz"


def located(source: str | os.PathLike[str]) -> Path | None:
    """Return the file that a source names: a path, "sample:NAME" or "data:NAME"; None for a synthetic workload.

    Raises:
        UnknownName: The trace is unknown.
        InvalidFile: The trace has not been fetched.
    """
    text = str(source)
    if text.startswith("synthetic:"):
        return None
    if text.startswith(SAMPLE):
        return sample(text.removeprefix(SAMPLE))
    if text.startswith(DATA):
        name = text.removeprefix(DATA)
        path = folder() / name / public(name).jobs.name
        if not path.exists():
            raise InvalidFile(f"{source}: is not on this machine; fetch it with `mlsched data fetch {name}`")
        return path
    return Path(source)


def fetch(name: str, *, mirror: str | None = None) -> list[Path]:
    """Fetch a public trace into `folder()`, unless it is there, check its SHA-256, and return its files.

    mirror: Take the files, by their names, from this address instead of the catalogue's.
    """
    source = public(name)
    try:
        import pooch
        import requests
    except ImportError:
        raise InvalidInput("fetching traces needs pooch; pip install 'mlsched[data]'") from None
    pooch.get_logger().setLevel("WARNING")  # the caller reports progress
    paths = []
    for file in source.files:
        address = file.address if mirror is None else f"{mirror.rstrip('/')}/{file.name}"
        try:
            paths.append(_retrieve(pooch, address, file, folder() / name))
        except requests.RequestException as error:
            reason = " ".join(str(error).split())[:200]
            raise InvalidFile(f"{address}: cannot be fetched ({reason}); check the network, or give a mirror") from None
        except ValueError as error:  # pooch on another checksum or protocol
            if "hash" not in str(error):
                raise InvalidInput(f"{address}: is not an address that can be fetched; write https://...") from None
            raise InvalidFile(
                f"{address}: is not the catalogue's file (SHA-256 {file.sha256[:12]}...), so it was deleted: "
                "fetch again, or report it if the address is the catalogue's"
            ) from None
        except OSError as error:
            raise InvalidFile(f"{folder() / name}: cannot be written ({error.strerror}); set MLSCHED_CACHE") from None
    return paths


def _retrieve(pooch: Any, address: str, file: File, where: Path) -> Path:
    return Path(pooch.retrieve(address, known_hash=f"sha256:{file.sha256}", fname=file.name, path=where))
