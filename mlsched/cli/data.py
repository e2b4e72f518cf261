"""`mlsched data list|fetch`: public traces by name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlsched.cli.output import Json, emit, table
from mlsched.core.aliases import Data

data = typer.Typer(help="List and fetch public traces by name.")


@data.command("list")
def list_(as_json: Json = False) -> None:
    """List public traces with their contents, licence, address and local copy."""
    from mlsched.instances.traces import public

    entries = [_entry(source) for source in public.CATALOGUE.values()]
    emit(as_json, lambda: {"folder": str(public.folder()), "traces": entries}, lambda: _lines(entries))


def _entry(source: Any) -> dict[str, object]:
    from mlsched.instances.traces import public

    there = public.folder() / source.name / source.jobs.name
    return {
        "name": source.name,
        "about": source.about,
        "licence": source.licence,
        "cite": source.cite,
        "files": [{"address": f.address, "bytes": f.bytes, "sha256": f.sha256} for f in source.files],
        "fetched": str(there) if there.exists() else None,
    }


def _lines(entries: list[Data]) -> list[Any]:
    """Return several lines per trace, because addresses are too long for a table."""
    lines: list[Any] = []
    for entry in entries:
        size = sum(file["bytes"] for file in entry["files"]) / 1e6
        rows = [
            ["what", entry["about"]],
            ["licence", entry["licence"]],
            ["cite", entry["cite"]],
            ["from", "\n".join(file["address"] for file in entry["files"])],
            ["fetch", entry["fetched"] or f"mlsched data fetch {entry['name']}    ({size:.1f} MB)"],
            ["run", f"--trace data:{entry['name']}    or, drawn and shipped: --trace sample:{entry['name']}"],
        ]
        lines.append(table("", [entry["name"], ""], rows))
    return lines


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Choose a trace, e.g. philly; see `mlsched data list`.")],
    mirror: Annotated[
        str | None,
        typer.Option(
            help="Fetch the files from this address, e.g. https://example.org/traces. Default: the publisher's address."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fetch a public trace, check it, and store it for `--trace data:NAME`; needs the extra "data"."""
    from mlsched.instances.traces import public

    paths = [str(path) for path in public.fetch(name, mirror=mirror)]
    licence = public.public(name).licence
    emit(
        as_json,
        lambda: {"name": name, "files": paths, "licence": licence},
        lambda: [*paths, f"licence: {licence}", f"run it with --trace data:{name}"],
    )
