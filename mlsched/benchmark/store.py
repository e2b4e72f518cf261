"""The store: rows in one SQLite file, written as they finish. An interrupted run loses nothing.

A table `rows`, a column a field of Row (dictionaries as JSON text), unique by Row.key, and a table `requests`, a line
for each suite, which says what was asked of it (`request.Request`). SQLite's rollback journal is kept rather than its
write-ahead log (WAL): between two writes the store is one file, which can be copied, sent and kept on a network drive,
where a WAL does not work; and the one thing that a WAL is quicker at, many writers and readers at once, does not occur:
only the process that was started by the user writes, a few rows at a time. Several processes may write to one store,
each its own suite; one waits for the other.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mlsched.benchmark.request import Request
from mlsched.benchmark.row import Row, canonical
from mlsched.benchmark.stored import MOST, check_row
from mlsched.core.contract import Primary
from mlsched.core.errors import InvalidFile, one_line
from mlsched.core.safe_open import open_file, target_of

#: `PRAGMA user_version`: the version of the table below.
VERSION = 1
#: `PRAGMA application_id`: "mlsb", so that another program's database is not mistaken for a store.
APPLICATION = 0x6D6C7362
#: gap_to_optimum depends on the other rows and is computed when they are read.
FIELDS = tuple(field.name for field in dataclasses.fields(Row) if field.name != "gap_to_optimum")
#: Seconds to wait for another process that writes.
PATIENCE = 60.0
#: Fields that may be unknown: a store without such a column is read, and gets it when it is added to, so that a field
#: may be added to Row; the rule of `Record`.
OPTIONAL = tuple(f.name for f in dataclasses.fields(Row) if f.default is None and f.name in FIELDS)
JSON_FIELDS = frozenset({"sizes", "primary", "params", "sort_keys", "work", "cases", "binding", "versions"})
#: Columns: the fields, and SHA-256 of what they hold, so that damage which SQLite does not see is seen.
COLUMNS = (*FIELDS, "checksum")
# Brackets, not quotes: SQLite takes a quoted name that is no column for a text.
_COLUMNS = ", ".join(f"[{name}]" for name in COLUMNS)
_CREATE = (
    f"CREATE TABLE rows (id INTEGER PRIMARY KEY, {_COLUMNS}, "
    "UNIQUE (suite, instance_hash, objective, solver, params, seed))"
)
#: What was asked of a suite, as JSON.
_CREATE_REQUESTS = "CREATE TABLE requests (suite TEXT PRIMARY KEY, request TEXT NOT NULL)"
_NOTE = "INSERT OR REPLACE INTO requests VALUES (?, ?)"
_INSERT = f"INSERT INTO rows ({_COLUMNS}) VALUES ({', '.join('?' * len(COLUMNS))})"


class Store:
    """An open store; a context manager. `path` is created if there is no such file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _file_of(path)
        self._lacking: list[str] = []
        with _sentences(self.path):
            self._connection = sqlite3.connect(self.path, timeout=PATIENCE)
        try:
            with _sentences(self.path):
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        """Make a new file a store; refuse what is none."""
        if self._state() == (0, 0, 0):
            with self._writing():
                if self._state() == (0, 0, 0):  # and nobody else has made it one meanwhile
                    self._connection.execute(_CREATE)
                    self._connection.execute(_CREATE_REQUESTS)
                    self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    self._connection.execute(f"PRAGMA user_version = {VERSION}")
        version, application, _ = self._state()
        if application != APPLICATION:
            raise InvalidFile(
                f"{self.path}: is an SQLite file of something else; give a store that mlsched bench wrote"
            )
        if version != VERSION:
            raise InvalidFile(
                f"{self.path}: store version {version}: this mlsched reads version {VERSION}; start a new file"
            )
        damage = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if damage != "ok":
            raise InvalidFile(f"{self.path}: is damaged ({' '.join(str(damage).split())}); start a new file")
        self._lacking = self._missing()

    def _state(self) -> tuple[int, ...]:
        """Version, application and number of tables: all 0 in a new file."""
        queries = ("PRAGMA user_version", "PRAGMA application_id", "SELECT COUNT(*) FROM sqlite_master")
        return tuple(int(self._connection.execute(query).fetchone()[0]) for query in queries)

    def _missing(self) -> list[str]:
        columns = {record[1] for record in self._connection.execute("PRAGMA table_info(rows)")}
        return [name for name in OPTIONAL if name not in columns]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that begins when no other process writes.

        One that begins by reading cannot wait for a writer: SQLite refuses it at once, since what it read is outdated.
        """
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield

    def add(self, rows: Sequence[Row]) -> None:
        """Append rows, all of them or none."""
        with _sentences(self.path), self._writing():
            self._complete()
            self._connection.executemany(_INSERT, [_encode(row) for row in rows])
        self._lacking = []

    def _complete(self) -> None:
        """Add the columns that the file lacks and nobody has added meanwhile."""
        for name in self._missing() if self._lacking else ():
            self._connection.execute(f"ALTER TABLE rows ADD COLUMN [{name}]")

    def note(self, request: Request) -> None:
        """Keep what is asked of a suite; where the same was asked of other parts of it, they are kept too."""
        with _sentences(self.path), self._writing():
            before = self._requests().get(request.suite)
            kept = request
            if before is not None and before.fingerprint == request.fingerprint:
                kept = request.joined(before)
            self._connection.execute(_NOTE, (kept.suite, kept.to_json()))

    def requests(self) -> dict[str, Request]:
        """What was asked of each suite."""
        with _sentences(self.path):
            return self._requests()

    def _requests(self) -> dict[str, Request]:
        found = self._connection.execute("SELECT suite, request FROM requests ORDER BY suite").fetchall()
        try:
            return {suite: Request.from_json(text) for suite, text in found}
        except (ValueError, TypeError) as error:
            raise InvalidFile(f"{self.path}: what was asked is damaged: {error}; start a new file") from None

    def replace(self, rows: Sequence[Row], request: Request) -> None:
        """Have these rows instead of those of the suite, in their order, and the request: all of it or nothing."""
        with _sentences(self.path), self._writing():
            self._complete()
            self._connection.execute("DELETE FROM rows WHERE suite = ?", (request.suite,))
            self._connection.executemany(_INSERT, [_encode(row) for row in rows])
            self._connection.execute(_NOTE, (request.suite, request.to_json()))
        self._lacking = []

    def count(self, suite: str) -> int:
        """How many rows of `suite` there are."""
        with _sentences(self.path):
            found = self._connection.execute("SELECT COUNT(*) FROM rows WHERE suite = ?", (suite,)).fetchone()
        return int(found[0])

    def suites(self) -> list[str]:
        """The names of the suites that have rows."""
        with _sentences(self.path):
            return [str(r[0]) for r in self._connection.execute("SELECT DISTINCT suite FROM rows ORDER BY suite")]

    def rows(self, suite: str | None = None) -> list[Row]:
        """The rows of `suite` (None: of all), in the order they were finished."""
        columns = ", ".join("NULL" if name in self._lacking else f"[{name}]" for name in COLUMNS)
        query = f"SELECT id, {columns} FROM rows"
        with _sentences(self.path):
            if suite is None:
                found = self._connection.execute(f"{query} ORDER BY id")
            else:
                found = self._connection.execute(f"{query} WHERE suite = ? ORDER BY id", (suite,))
            # Most rows share their texts with others: versions, parameters, names. Each is kept once.
            texts: dict[str, Any] = {}
            return [self._decode(record, texts) for record in found]

    def _decode(self, record: tuple[Any, ...], texts: dict[str, Any]) -> Row:
        number, *cells, checksum = record
        if checksum != checksum_of(cells):
            raise InvalidFile(f"{self.path}: row {number} is damaged (its checksum is another); start a new file")
        try:
            values = {
                name: _shared(cell, texts, decode=name in JSON_FIELDS) if isinstance(cell, str) else cell
                for name, cell in zip(FIELDS, cells, strict=True)
            }
            check_row(values)
            if values["primary"] is not None:
                values["primary"] = Primary(**values["primary"])
        except (ValueError, TypeError) as error:
            raise InvalidFile(f"{self.path}: row {number} is damaged: {error}; start a new file") from None
        return Row(**values)

    def close(self) -> None:
        """Close the file; every row added is on disk already."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_rows(path: str | os.PathLike[str], suite: str | None = None) -> list[Row]:
    """The rows of an existing store."""
    open_file(path).close()
    with Store(path) as store:
        return store.rows(suite)


def _file_of(path: str | os.PathLike[str]) -> Path:
    """Return the regular file of a store; one that cannot be written can still be read."""
    place = Path(path)
    with contextlib.suppress(OSError, ValueError):  # a path that no file can have is refused below
        if place.is_file() and not (os.access(place, os.W_OK) and os.access(place.parent, os.W_OK | os.X_OK)):
            return Path(os.path.realpath(place))
    return target_of(path)


def _shared(text: str, texts: dict[str, Any], *, decode: bool) -> Any:
    """Return the text, or its JSON value, as the one object that all rows share."""
    key = f"j{text}" if decode else f"t{text}"
    if key not in texts:
        texts[key] = json.loads(text) if decode else text
    return texts[key]


def _encode(row: Row) -> list[Any]:
    cells = []
    for name in FIELDS:
        value: Any = getattr(row, name)
        value = dataclasses.asdict(value) if isinstance(value, Primary) else value
        value = one_line(value, MOST) if isinstance(value, str) else value
        cells.append(canonical(value) if name in JSON_FIELDS and value is not None else value)
    return [*cells, checksum_of(cells)]


def checksum_of(cells: Sequence[Any]) -> str:
    """SHA-256 of the cells of a row that are known, so that a field may be added to rows later.

    A number counts as SQLite gives it back: columns have no types.
    """
    known = {name: cell for name, cell in zip(FIELDS, cells, strict=True) if cell is not None}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


@contextlib.contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """SQLite's complaints as InvalidFile."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise InvalidFile(
            f"{path}: another run has stored the same rows meanwhile ({error}); let one end, then --resume the other"
        ) from None
    except sqlite3.OperationalError as error:
        raise InvalidFile(f"{path}: cannot be used as a store: {error}; choose another place") from None
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite tells of damage in the file's own bytes
        raise InvalidFile(f"{path}: is not a store that mlsched bench wrote: {error}; choose another file") from None
