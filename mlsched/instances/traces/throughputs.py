"""Tables of throughputs: steps per second of a kind of job on each type of GPU.

Gavel's and Shockwave's file (JSON, plain or gzip): {GPU type: {"('ResNet-18 (batch size 16)', 1)": {"null": steps/s
alone, other key: [steps/s of this, of the other]}}}; the second item of a key is the number of GPUs that the job spans.
Your own table is a CSV file with the columns `model` and `gpus` and one column for each GPU type, in steps per second
of the complete job; 0 or empty if it cannot run there.
"""

from __future__ import annotations

import ast
import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from mlsched.core.errors import InvalidFile, InvalidInput, did_you_mean
from mlsched.core.files import parse_json
from mlsched.core.safe_open import gunzipped, read_bytes, shown_path
from mlsched.instances.traces.source import Text, csv_header, csv_rows, separator_of

#: Most steps per second; far more than anything measured.
MOST_RATE = 1e12
#: Types of Gavel's file that are the same GPUs with a job's workers spread over machines.
SPREAD = "_unconsolidated"
#: Most rows of an own table.
MOST_ROWS = 100_000
#: A model and the GPUs that its job spans.
Key = tuple[str, int]


@dataclasses.dataclass(frozen=True)
class Throughputs:
    """Steps per second of jobs.

    Attributes:
        types: GPU types.
        rates: (model, GPUs) -> type -> rate of a job that runs by itself, 0: cannot run.
        pairs: Two such keys -> type -> rates of both jobs while they share their GPUs, 0: they do not fit. Pairs are
            read on request.
    """

    types: tuple[str, ...]
    rates: Mapping[tuple[str, int], Mapping[str, float]]
    source: str = ""
    pairs: Mapping[tuple[Key, Key], Mapping[str, tuple[float, float]]] = dataclasses.field(default_factory=dict)

    def of(self, model: str, gpus: int) -> Mapping[str, float]:
        """Return the rates of a job; InvalidInput if it was not measured."""
        if (model, gpus) in self.rates:
            return self.rates[model, gpus]
        gpu_counts = sorted(count for name, count in self.rates if name == model)
        if gpu_counts:
            raise InvalidInput(
                f"model {model!r} on {gpus} GPUs: {self.source} has it on {', '.join(map(str, gpu_counts))}; add a row"
            )
        close = did_you_mean(model, sorted({name for name, _ in self.rates}))
        raise InvalidInput(f"model {model!r}: is missing in {self.source}{close}; add a row")


def read_throughputs(path: str | os.PathLike[str], pairs: bool = False) -> Throughputs:
    """Read a table of throughputs: a JSON file of Gavel or Shockwave, or your own CSV file (see the module).

    pairs: Also read the rates of pairs that share their GPUs. A CSV file lacks them: InvalidFile.
    """
    content = gunzipped(path, read_bytes(path))
    if content.lstrip()[:1] == b"{":
        data = throughputs_of(path, content)
        alone = _of_gavel(path, data)
        return dataclasses.replace(alone, pairs=_pairs_of_gavel(path, data, alone)) if pairs else alone
    if pairs:
        raise InvalidFile(f"{path}: a CSV table lacks rates of pairs; give a throughputs file of Gavel (JSON)")
    return _read_own_csv(path)


def throughputs_of(path: str | os.PathLike[str], content: bytes) -> dict[str, Any]:
    """Return the file's own layout, checked to be GPU type -> key -> entry."""
    data: dict[str, Any] = parse_json(path, content)
    entries = [data, *data.values()] if isinstance(data, dict) else [data]
    entries += [entry for gpu in entries[1:] if isinstance(gpu, dict) for entry in gpu.values()]
    if not all(isinstance(entry, dict) for entry in entries):
        raise InvalidFile(f"{path}: expected an object of GPU types; give a throughputs file of Gavel")
    return data


def key_of(path: Any, text: str) -> tuple[str, int]:
    """Parse a key "('name', GPUs)", or a bare name, which spans one GPU."""
    if not text.startswith("("):
        return text, 1
    try:
        name, count = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InvalidFile(f"{path}: key {text!r}: expected a name or ('name', GPUs)") from None
    if not isinstance(name, str) or not isinstance(count, int):
        raise InvalidFile(f"{path}: key {text!r}: expected a name or ('name', GPUs)")
    return name, count


def rate_of(path: Any, value: Any) -> float:
    """Check a rate and return it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MOST_RATE:
        raise InvalidFile(f"{path}: rate {value!r}: expected a number between 0 and {MOST_RATE:g}")
    return float(value)


def _of_gavel(path: str | os.PathLike[str], data: dict[str, Any]) -> Throughputs:
    """Read the rates of single jobs, without pairs and spread jobs."""
    types = tuple(sorted(name for name in data if not name.endswith(SPREAD)))
    rates: dict[tuple[str, int], dict[str, float]] = {}
    for name in types:
        for text, entry in data[name].items():
            rates.setdefault(key_of(path, text), dict.fromkeys(types, 0.0))[name] = rate_of(path, entry.get("null", 0))
    if not rates:
        raise InvalidFile(
            f"{path}: jobs are missing; give a throughputs file of Gavel, or a CSV with model,gpus,TYPE,..."
        )
    return Throughputs(types, rates, shown_path(path))


def _pairs_of_gavel(
    path: str | os.PathLike[str], data: dict[str, Any], alone: Throughputs
) -> dict[tuple[Key, Key], dict[str, tuple[float, float]]]:
    """Read the rates of pairs of jobs with equally many GPUs: pair -> type of GPU -> rate of each job."""
    pairs: dict[tuple[Key, Key], dict[str, tuple[float, float]]] = {}
    for name in alone.types:
        for text, entry in data[name].items():
            key = key_of(path, text)
            for other_text, rates in entry.items():
                if other_text == "null":
                    continue
                other = key_of(path, other_text)
                if not isinstance(rates, list) or len(rates) != 2:
                    raise InvalidFile(f"{path}: {text} with {other_text}: expected a list of two rates")
                first, second = (rate_of(path, rate) for rate in rates)
                if key[1] == other[1] and first > 0 and second > 0:
                    pairs.setdefault((key, other), {})[name] = first, second
    if not pairs:
        raise InvalidFile(f"{path}: rates of pairs are missing; give a throughputs file of Gavel that has them")
    return pairs


def _read_own_csv(path: str | os.PathLike[str]) -> Throughputs:
    """Read a CSV file with one column for each GPU type."""
    rates: dict[tuple[str, int], dict[str, float]] = {}
    with Text(path) as text:
        separator = separator_of(text)
        types = tuple(name for name in csv_header(text, separator) if name not in ("model", "gpus"))
        needed = "give the columns model, gpus and one for each GPU type"
        lacks = dict.fromkeys(("model", "gpus"), needed)
        for model, gpus, *values in csv_rows(text, ("model", "gpus", *types), lacks, separator):
            if len(rates) >= MOST_ROWS:
                text.fail(f"has more than {MOST_ROWS} rows", "check that this is a table of throughputs")
            key = text.label("model", model), text.whole("gpus", gpus)
            if key[1] < 1:
                text.bad("gpus", gpus, "expected at least 1")
            if key in rates:
                text.fail(f"model {model!r} on {gpus} GPUs is there twice", "remove one of the rows")
            rates[key] = {name: _parse_rate(text, name, value) for name, value in zip(types, values, strict=True)}
        if not types:
            raise InvalidFile(f"{text.name}, line 1: GPU types are missing in the header; {needed}")
        if len({name.strip().lower() for name in types}) != len(types):
            raise InvalidFile(
                f"{text.name}, line 1: the header has a GPU type twice, in other capitals; remove or rename one"
            )
    return Throughputs(types, rates, shown_path(path))


def _parse_rate(text: Text, column: str, value: str) -> float:
    try:
        rate = float(value or 0)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < MOST_RATE:
        text.bad(column, value, f"expected steps per second, a number between 0 and {MOST_RATE:g}")
    return rate
