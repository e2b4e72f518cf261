"""Public traces by name: the catalogue, fetching from a server on this machine, and the sample traces that ship."""

from __future__ import annotations

import functools
import gzip
import hashlib
import threading
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from mlsched.core.errors import InvalidFile, InvalidInput, UnknownName
from mlsched.instances.traces import public, read_trace

ROOT = Path(__file__).parents[3]
TEXT = "job_id,arrival_s,service_sec,gpu_count\na,0,60,1\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *what: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def server(tmp_path):
    """The address of a server on this machine, and the folder that it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}", folder
        made.shutdown()
        thread.join()


@pytest.fixture
def helios(monkeypatch, tmp_path):
    """A catalogue whose Helios is a file of one job, and a folder for what is fetched."""
    own = public.CATALOGUE["helios-venus"]
    jobs = replace(own.jobs, sha256=hashlib.sha256(TEXT.encode()).hexdigest(), bytes=len(TEXT))
    monkeypatch.setattr(public, "CATALOGUE", {"helios-venus": replace(own, jobs=jobs)})
    monkeypatch.setenv("MLSCHED_CACHE", str(tmp_path / "cache"))
    return jobs


def test_fetching_from_a_server(server, helios):
    pytest.importorskip("pooch")
    address, folder = server
    with pytest.raises(InvalidFile, match="is not on this machine; fetch it with `mlsched data fetch helios-venus`"):
        public.located("data:helios-venus")
    with pytest.raises(InvalidFile, match=r"cannot be fetched \(404.*; check the network, or give a mirror"):
        public.fetch("helios-venus", mirror=address)
    (folder / helios.name).write_text(TEXT + "b,1,60,1\n")
    with pytest.raises(InvalidFile, match=r"is not the catalogue's file .* deleted"):
        public.fetch("helios-venus", mirror=address)
    assert not list(public.folder().rglob("*.csv"))
    (folder / helios.name).write_text(TEXT)
    [path] = public.fetch("helios-venus", mirror=f"{address}/")
    assert path == public.located("data:helios-venus")
    assert len(read_trace(path)) == 1
    (folder / helios.name).unlink()
    assert public.fetch("helios-venus", mirror=address) == [path], "what is there is not fetched again"
    with pytest.raises(InvalidInput, match="is not an address that can be fetched"):
        public.fetch("helios-venus", mirror="nonsense") if path.unlink() is None else None


def test_the_catalogue():
    for name, found in public.CATALOGUE.items():
        assert found.licence
        assert found.cite
        assert name == found.name
        for file in found.files:
            assert file.address.startswith("https://")
            assert len(file.sha256) == 64
    with pytest.raises(UnknownName, match="unknown public trace 'x'; there are philly, helios-venus"):
        public.located("sample:x")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("philly", "philly/philly.csv.gz"),
        ("helios-venus", "helios/helios_venus_gpu_jobs.csv.gz"),
        ("alibaba-v2023", "alibaba_gpu_v2023/openb_pod_list_default.csv.gz"),
    ],
)
def test_the_checksums_are_those_of_the_files(shared_data, name, path):
    if not (shared_data / path).is_file():
        pytest.skip(f"no {path} where MLSCHED_DATA says")
    content = gzip.decompress((shared_data / path).read_bytes())
    file = public.CATALOGUE[name].jobs
    assert (len(content), hashlib.sha256(content).hexdigest()) == (file.bytes, file.sha256)


@pytest.mark.parametrize("name", list(public.CATALOGUE))
def test_a_sample_reads_as_its_trace_does(name):
    trace = read_trace(public.located(f"sample:{name}"))
    assert len(trace) == 400
    assert trace.source.endswith({"philly": "(philly-csv)", "helios-venus": "(helios-csv)"}.get(name, f"({name})"))
    single = float((trace.gpu_count == 1).mean())
    assert abs(single - {"philly": 0.93, "helios-venus": 0.52, "alibaba-v2023": 0.845}[name]) < 0.06
    assert np.median(trace.duration_ms) < trace.duration_ms.mean()
