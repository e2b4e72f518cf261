"""Meaning of the columns of any log or machine list: by `read`, and by the common names of columns.

`read` maps fields to the file's own columns: {"submit": "submit_time", "duration": "run_min:min", "gpus": "num_gpus"}.
A unit may follow a colon, or end the column's name (`run_min`); without one, times are seconds and GPUs and CPUs are
units. `#3` is the third column. A value instead of a column applies to every row ("gpus": "1", "duration": "3600",
"partition": "'batch'"), and an empty value ("cpus": "") leaves a column unread. Two settings describe the layout of a
text: "separator" ("tab", "semicolon", ...) and "header" ("no": its first line is a row, columns are addressed by their
numbers). Unmapped fields are found by their common names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlsched.core.errors import InvalidInput, did_you_mean, shorten
from mlsched.instances.traces.pods import LABELS
from mlsched.instances.traces.source import SEPARATORS, shown
from mlsched.instances.traces.values import COUNTS, MEMORIES, TIMES, Place, Times, is_missing

#: Field of a log -> common names of its column, in lower case with "_" between words and without a unit.
NAMES: Mapping[str, tuple[str, ...]] = {
    "submit": (
        *("submit", "submit_time", "submitted", "submitted_at", "submitted_time", "submission_time"),
        *("arrival", "arrival_time", "created", "created_at", "create_time", "creation_time"),
    ),
    "start": ("start", "start_time", "started", "started_at", "begin", "begin_time"),
    "end": ("end", "end_time", "ended", "ended_at", "finish", "finish_time", "finished_at", "completion_time"),
    "duration": ("duration", "run", "run_time", "runtime", "elapsed", "elapsed_time", "service", "execution_time"),
    "gpus": (
        *("gpus", "gpu", "num_gpus", "num_gpu", "n_gpus", "ngpus", "gpu_count", "gpu_num"),
        *("number_of_gpus", "requested_gpus"),
    ),
    "workers": (
        *("workers", "num_workers", "num_worker", "n_workers", "worker_count", "worker_num"),
        *("replicas", "num_replicas", "instances", "num_instances", "inst_num"),
    ),
    "cpus": ("cpus", "cpu", "num_cpus", "num_cpu", "n_cpus", "ncpus", "cpu_count", "cpu_num", "cores", "num_cores"),
    "memory": ("memory", "mem", "ram"),
    "user": ("user", "user_id", "user_name", "username", "owner"),
    "group": ("group", "account", "project", "team", "department"),
    "partition": ("partition", "partition_name", "queue_name", "vc", "virtual_cluster", "pool", "node_pool"),
    "gpu_type": ("gpu_type", "gpu_model", "gpu_spec", "gpu_name", "accelerator_type"),
    "model": ("model", "model_name"),
    "rates": ("rates", "gpu_rates"),
    "qos": ("qos", "qos_class", "service_class", "priority_class"),
    "priority": ("priority", "prio", "job_priority"),
    "time_limit": ("time_limit", "timelimit", "requested_time", "req_time", "requested_walltime", "walltime_limit"),
    "eligible": ("eligible", "eligible_time", "eligible_at"),
    "after": ("after", "dependency", "dependencies", "depends_on", "preceding_job"),
    "nodes": ("num_nodes", "num_node", "n_nodes", "nnodes", "node_count", "node_num", "alloc_nodes", "num_pods"),
    "node_names": ("node", "node_name", "node_names", "nodelist", "node_list", "host", "hosts", "hostname", "machine"),
    "pod_group": LABELS,
    "pause_cost": ("pause_cost", "resume_cost", "restart_cost"),
    "id": ("id", "job_id", "jobid"),
    "status": ("status", "state", "job_state", "phase", "pod_phase"),
}
POINTS = ("submit", "start", "end", "eligible")
SPANS = ("duration", "time_limit", "pause_cost")
COUNTED = ("gpus", "cpus", "memory")
NUMBERED = ("workers", "nodes", "count", "priority")
#: Settings of a text's layout, besides the fields.
SETTINGS = ("separator", "header")
#: Parts of names that identify likely columns for messages.
_NEAR = {
    "submit": ("submi", "arriv", "creat", "queued"),
    "duration": ("durat", "run", "elapsed", "service", "length"),
    "gpus": ("gpu", "accelerator", "card", "device"),
    "cpus": ("cpu", "core"),
}
#: End of a column's name -> unit.
_ENDS = {
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hours"), "h"),
    **dict.fromkeys(("d", "days"), "d"),
    **{unit: unit for unit in (*MEMORIES, "milli", "percent")},
}

USAGE = "read submit=COLUMN,duration=COLUMN,gpus=COLUMN"


@dataclass(frozen=True)
class Column:
    """The source of a field: a column and its unit, or a constant for every row."""

    field: str
    name: str
    unit: str = ""
    constant: str | None = None
    guessed: bool = False

    def __str__(self) -> str:
        what = self.name if self.constant is None else f"{self.constant} for every job"
        return f"{self.field}={what}" + (f" in {self.unit}" if self.unit not in ("", "whole") else "")


@dataclass(frozen=True)
class Given:
    """The parsed `read` argument: field -> column, and the layout of the text."""

    fields: Mapping[str, str]
    separator: str | None = None
    header: bool = True


def parse(text: str | Mapping[str, str], known: Mapping[str, tuple[str, ...]] = NAMES) -> Given:
    """Parse `"submit=a,gpus=b"` (or a mapping), or raise InvalidInput. known: The existing fields."""
    if isinstance(text, str):
        settings: dict[str, str] = {}
        for item in filter(None, text.split(",")):
            field, equals, column = item.partition("=")
            if not equals or field in settings:
                raise InvalidInput(f"read: '{item}' is not FIELD=COLUMN, or names a field twice; {USAGE}")
            settings[field] = column
    else:
        settings = dict(text)
    for field, column in settings.items():
        if field not in known and field not in SETTINGS:
            there = ", ".join((*known, *SETTINGS))
            raise InvalidInput(f"read: unknown field {shown(field)}{did_you_mean(field, known)}; there are {there}")
        if not isinstance(column, str):
            raise InvalidInput(f"read: {field}: {shown(column)}, expected the name of a column; {USAGE}")
    separator, header = settings.pop("separator", None), settings.pop("header", "yes")
    if separator is not None and separator not in SEPARATORS:
        raise InvalidInput(f"read: separator: {shown(separator)}, expected one of {', '.join(SEPARATORS)}")
    if header not in ("yes", "no"):
        raise InvalidInput(f"read: header: {shown(header)}, expected yes or no")
    return Given(settings, separator, header == "yes")


def columns_of(
    place: Place, header: Sequence[str], read: Mapping[str, str], known: Mapping[str, tuple[str, ...]] = NAMES
) -> dict[str, Column]:
    """Return the column of each field: by `read`, and by common names for the remaining fields."""
    columns = {field: given(place, header, field, spec) for field, spec in read.items() if spec}
    plain = plain_names(header)
    for field, names in known.items():
        if field not in read and (column := guessed(place, plain, field, names)) is not None:
            columns[field] = column
    return columns


def check_log(place: Place, header: Sequence[str], columns: dict[str, Column], read: Mapping[str, str]) -> None:
    """Reject a log with too few recognised columns, or with an ambiguous column."""
    there = f"; the columns are {_header_text(header)}"
    if "submit" not in columns:
        place.fail(
            f"a column with submission times is missing{near(header, 'submit', columns)}", f"read submit=COLUMN{there}"
        )
    if "duration" not in columns and not {"start", "end"} <= set(columns):
        hint = near(header, "duration", columns)
        place.fail(
            f"a column with run times is missing{hint}", f"read duration=COLUMN, or start=COLUMN,end=COLUMN{there}"
        )
    hint = near(header, "gpus", columns) if "gpus" not in read else ""
    if "gpus" not in columns and ("cpus" not in columns or hint):
        remedy = "read gpus=COLUMN, or gpus=1 for one each" + (", or gpus= for none" if "cpus" in columns else "")
        place.fail(f"a column with numbers of GPUs is missing{hint}", f"{remedy}{there}")
    workers = columns.get("workers")
    if workers is not None and workers.guessed and "gpus" in columns:
        gpus = columns["gpus"].name or "gpus"
        place.fail(
            f"column {shown(workers.name)}: {shown(gpus)} may be GPUs of the job or of each worker",
            f"read workers={workers.name} where it is of each, workers= where it is of the job",
        )


def complete(header: Sequence[str]) -> bool:
    """Check that common names identify each job's submit time, run time and demand."""
    plain = {name for _, name in plain_names(header)}
    fields = {field for field, names in NAMES.items() if not plain.isdisjoint(names)}
    return (
        "submit" in fields and bool(fields & {"gpus", "cpus"}) and ("duration" in fields or {"start", "end"} <= fields)
    )


def given(place: Place, header: Sequence[str], field: str, spec: str) -> Column:
    """Return the column of `spec` ("NAME", "NAME:UNIT" or "#NUMBER") for a field, or the constant in `spec`."""
    name, _, unit = spec.rpartition(":")
    if spec in header or not name:
        name, unit = spec, ""
    units = _units_of_field(field)
    if unit and unit not in units and (value := _constant(field, spec)) is not None:  # 1:00:00
        return Column(field, "", _default_unit(place, field, spec), constant=value)
    if name not in header and (match := re.fullmatch(r"#([0-9]{1,6})", name)):
        if not 1 <= int(match[1]) <= len(header):
            place.fail(
                f"column {name} for {field} is missing", f"there are {len(header)} columns: #1 to #{len(header)}"
            )
        name = header[int(match[1]) - 1]
    if unit and unit not in units:
        there = f"use one of {', '.join(units)}" if units else "it has none: leave it out"
        place.fail(f"read {field}={spec}: unknown unit {shown(unit)} of {field}", there)
    if name not in header:
        if (value := _constant(field, name)) is not None:
            return Column(field, "", unit or _default_unit(place, field, name), constant=value)
        place.fail(f"column {shown(name)} for {field} is missing", f"the columns are {_header_text(header)}")
    return Column(field, name, unit or _unit_of_name(field, name) or _default_unit(place, field, name))


def _constant(field: str, text: str) -> str | None:
    """Return a text's constant for all rows (number, length of time, date, or quoted text), else None."""
    if match := re.fullmatch(r"'(.*)'|\"(.*)\"", text):
        return match[1] or match[2] or ""
    if field in COUNTED or field in NUMBERED:
        return text if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else None
    if field in SPANS or field in POINTS:
        return text if re.fullmatch(r"[0-9][0-9:.\- TZ+]*", text) else None
    return None


def plain_names(header: Sequence[str]) -> list[tuple[str, str]]:
    """Return (column, normalised name) pairs: lower case with "_" between words and without a unit."""
    return [(column, _plain_name_and_unit(column)[0]) for column in header]


def guessed(place: Place, columns: Sequence[tuple[str, str]], field: str, names: Sequence[str]) -> Column | None:
    """Return the column whose plain name is one of `names`, if any.

    Args:
        place: Place of the header, for messages.
        columns: Pairs of `plain_names`.
        field: Field that the column is read as.
        names: Usual names of the field.

    Raises:
        InvalidInput: Several columns have such a name.
    """
    those = [column for column, name in columns if name in names]
    if len(those) > 1:
        both = " and ".join(map(shown, those[:2]))
        place.fail(f"columns {both} could both be {field}", f"choose one: read {field}=COLUMN, or {field}= for neither")
    if not those:
        return None
    name = those[0]
    return Column(field, name, _unit_of_name(field, name) or _default_unit(place, field, name), guessed=True)


def near(header: Sequence[str], field: str, columns: Mapping[str, Column]) -> str:
    """Return " (there is 'gpu_capacity_num')": unread columns that may contain an unrecognised field."""
    read = {column.name for column in columns.values()}
    parts = _NEAR.get(field, ())
    those = [column for column, name in plain_names(header) if column not in read and any(p in name for p in parts)]
    return f" (there is {', '.join(map(shown, those[:3]))})" if those else ""


def _plain_name_and_unit(name: str) -> tuple[str, str]:
    """Return a column's name in lower case with "_" between its words, without its unit; and the unit."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name))
    plain = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    stem, _, end = plain.rpartition("_")
    return (stem, _ENDS[end]) if stem and end in _ENDS else (plain, "")


def _units_of_field(field: str) -> tuple[str, ...]:
    if field in POINTS or field in SPANS:
        return tuple(TIMES)
    return tuple(MEMORIES) if field == "memory" else tuple(COUNTS) if field in COUNTED else ()


def _unit_of_name(field: str, name: str) -> str:
    unit = _plain_name_and_unit(name)[1]
    return unit if unit in _units_of_field(field) else ""


def _default_unit(place: Place, field: str, name: str) -> str:
    if field == "memory":
        place.fail(f"column {shown(name)} lacks a unit", f"read memory={name}:gib (or {', '.join(MEMORIES)})")
    return "s" if field in POINTS or field in SPANS else "whole" if field in COUNTED else ""


def _header_text(header: Sequence[str]) -> str:
    return shorten(", ".join(header), 120)


def described(columns: Mapping[str, Column]) -> str:
    """Describe the columns read, for the source of a trace."""
    column_list = ", ".join(str(column) for column in columns.values() if not column.guessed)
    guesses = ", ".join(str(column) for column in columns.values() if column.guessed)
    return "; ".join(part for part in (column_list, f"by their names: {guesses}" if guesses else "") if part)


def times_of(columns: Mapping[str, Column]) -> dict[str, Times]:
    """Return a reader for every column of times."""
    return {
        field: Times(column.name or field, TIMES[column.unit], span=field in SPANS)
        for field, column in columns.items()
        if field in POINTS or field in SPANS
    }


def value_of(column: Column, row: Sequence[object], index: Mapping[str, int]) -> object:
    """Return a row's value of a field."""
    return row[index[column.field]] if column.constant is None else column.constant


def text_of(place: Place, column: Column | None, row: Sequence[object], index: Mapping[str, int]) -> str:
    """Return a printable text without surrounding blanks; '' if the row or the file lacks it."""
    if column is None or is_missing(value := value_of(column, row, index)):
        return ""
    text = str(value).strip()
    if not text.isprintable():
        place.bad(column.name, value, "expected printable text")
    return text
