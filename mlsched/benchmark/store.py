"""Store: rows in one SQLite file, written as they finish, so that an interrupted run keeps its results.

The table `rows` has one column per field of Row (dictionaries as JSON text), unique by Row.key. The table `requests`
has one line per suite, with its request (`request.Request`). The store uses SQLite's rollback journal rather than its
write-ahead log (WAL). Between two writes the store is then one file, which can be copied, sent and kept on a network
drive, unlike a WAL. The advantage of a WAL, many concurrent writers and readers, is not needed: only the user's process
writes, a few rows at a time. Several processes may write to one store, each its own suite; they wait for each other.
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
from mlsched.benchmark.row import Row, canonical_json
from mlsched.benchmark.stored import MAX_TEXT, check_row
from mlsched.core.aliases import Data
from mlsched.core.contract import Primary
from mlsched.core.errors import InvalidFile, one_line
from mlsched.core.safe_open import open_file, target_of

#: `PRAGMA user_version`: version of the tables.
VERSION = 1
#: `PRAGMA application_id`: "mlsb", so that another program's database is not mistaken for a store.
APPLICATION = 0x6D6C7362
#: Stored fields; gap_to_optimum depends on other rows and is computed on reading.
FIELDS = tuple(field.name for field in dataclasses.fields(Row) if field.name != "gap_to_optimum")
#: Seconds to wait for another process that writes.
PATIENCE = 60.0
#: Fields that may be missing: a store without such a column is readable, and gets it at the next write. Fields may thus
#: be added to Row, as in `Record`.
OPTIONAL = tuple(f.name for f in dataclasses.fields(Row) if f.default is None and f.name in FIELDS)
JSON_FIELDS = frozenset({"sizes", "primary", "params", "sort_keys", "work", "cases", "binding", "versions"})
#: Columns with different texts in different rows.
DISTINCT_FIELDS = frozenset({"made", "error"})
#: Columns: the fields, and their SHA-256, which detects damage that SQLite does not.
COLUMNS = (*FIELDS, "checksum")
# Brackets, not quotes: SQLite takes an unknown quoted name as a text.
_COLUMNS = ", ".join(f"[{name}]" for name in COLUMNS)
_CREATE = (
    f"CREATE TABLE rows (id INTEGER PRIMARY KEY, {_COLUMNS}, "
    "UNIQUE (suite, instance_hash, objective, solver, params, seed))"
)
#: Request of a suite, as JSON.
_CREATE_REQUESTS = "CREATE TABLE requests (suite TEXT PRIMARY KEY, request TEXT NOT NULL)"
_NOTE = "INSERT OR REPLACE INTO requests VALUES (?, ?)"
_INSERT = f"INSERT INTO rows ({_COLUMNS}) VALUES ({', '.join('?' * len(COLUMNS))})"


class Store:
    """Open store; a context manager. `path` is created if it does not exist."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _store_path(path)
        self._lacking: list[str] = []
        with _as_invalid_file(self.path):
            self._connection = sqlite3.connect(self.path, timeout=PATIENCE)
        try:
            with _as_invalid_file(self.path):
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        """Initialise a new file; raise InvalidFile for a file that is not a store."""
        if self._state() == (0, 0, 0):
            with self._writing():
                if self._state() == (0, 0, 0):  # no other process has initialised it meanwhile
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
        """Return version, application and number of tables: all 0 in a new file."""
        queries = ("PRAGMA user_version", "PRAGMA application_id", "SELECT COUNT(*) FROM sqlite_master")
        return tuple(int(self._connection.execute(query).fetchone()[0]) for query in queries)

    def _missing(self) -> list[str]:
        columns = {record[1] for record in self._connection.execute("PRAGMA table_info(rows)")}
        return [name for name in OPTIONAL if name not in columns]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Open a transaction that begins after other processes have written.

        A transaction that begins by reading cannot wait for a writer: SQLite rejects it at once, because its data are
        outdated.
        """
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield

    def add(self, rows: Sequence[Row]) -> None:
        """Append rows, all of them or none."""
        with _as_invalid_file(self.path), self._writing():
            self._complete()
            self._connection.executemany(_INSERT, [_encode(row) for row in rows])
        self._lacking = []

    def _complete(self) -> None:
        """Add the columns that the file still lacks."""
        for name in self._missing() if self._lacking else ():
            self._connection.execute(f"ALTER TABLE rows ADD COLUMN [{name}]")

    def note(self, request: Request) -> None:
        """Store the request of a suite, joined with an equal request for other parts."""
        with _as_invalid_file(self.path), self._writing():
            before = self._requests().get(request.suite)
            joined_request = request
            if before is not None and before.fingerprint == request.fingerprint:
                joined_request = request.joined(before)
            self._connection.execute(_NOTE, (joined_request.suite, joined_request.to_json()))

    def requests(self) -> dict[str, Request]:
        """Return the request of each suite."""
        with _as_invalid_file(self.path):
            return self._requests()

    def _requests(self) -> dict[str, Request]:
        records = self._connection.execute("SELECT suite, request FROM requests ORDER BY suite").fetchall()
        try:
            return {suite: Request.from_json(text) for suite, text in records}
        except (ValueError, TypeError) as error:
            raise InvalidFile(f"{self.path}: the stored request is damaged: {error}; start a new file") from None

    def replace(self, rows: Sequence[Row], request: Request) -> None:
        """Replace the stored rows and request of the request's suite, in one transaction."""
        with _as_invalid_file(self.path), self._writing():
            self._complete()
            self._connection.execute("DELETE FROM rows WHERE suite = ?", (request.suite,))
            self._connection.executemany(_INSERT, [_encode(row) for row in rows])
            self._connection.execute(_NOTE, (request.suite, request.to_json()))
        self._lacking = []

    def count(self, suite: str) -> int:
        """Return the number of rows of `suite`."""
        with _as_invalid_file(self.path):
            record = self._connection.execute("SELECT COUNT(*) FROM rows WHERE suite = ?", (suite,)).fetchone()
        return int(record[0])

    def suites(self) -> list[str]:
        """Return the names of the suites that have rows."""
        with _as_invalid_file(self.path):
            return [str(r[0]) for r in self._connection.execute("SELECT DISTINCT suite FROM rows ORDER BY suite")]

    def rows(self, suite: str | None = None) -> list[Row]:
        """Return the rows of `suite` (None: all), in the order they were finished."""
        columns = ", ".join("NULL" if name in self._lacking else f"[{name}]" for name in COLUMNS)
        query = f"SELECT id, {columns} FROM rows"
        with _as_invalid_file(self.path):
            if suite is None:
                records = self._connection.execute(f"{query} ORDER BY id")
            else:
                records = self._connection.execute(f"{query} WHERE suite = ? ORDER BY id", (suite,))
            # Most rows share their texts with others: versions, parameters, names. Each text is kept once.
            texts: Data = {}
            return [self._decode(record, texts) for record in records]

    def _decode(self, record: tuple[Any, ...], texts: Data) -> Row:
        number, *cells, checksum = record
        if checksum != checksum_of(cells):
            raise InvalidFile(f"{self.path}: row {number} is damaged (its checksum is another); start a new file")
        try:
            values = {
                name: _shared_value(cell, texts, decode=name in JSON_FIELDS)
                if isinstance(cell, str) and name not in DISTINCT_FIELDS
                else cell
                for name, cell in zip(FIELDS, cells, strict=True)
            }
            check_row(values)
            if values["primary"] is not None:
                values["primary"] = Primary(**values["primary"])
        except (ValueError, TypeError) as error:
            raise InvalidFile(f"{self.path}: row {number} is damaged: {error}; start a new file") from None
        return Row(**values)

    def close(self) -> None:
        """Close the file; every added row is already on disk."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_rows(path: str | os.PathLike[str], suite: str | None = None) -> list[Row]:
    """Return the rows of an existing store."""
    open_file(path).close()
    with Store(path) as store:
        return store.rows(suite)


def _store_path(path: str | os.PathLike[str]) -> Path:
    """Return the regular file of a store; an unwritable store is still readable."""
    place = Path(path)
    with contextlib.suppress(OSError, ValueError):  # a path that cannot exist is rejected below
        if place.is_file() and not (os.access(place, os.W_OK) and os.access(place.parent, os.W_OK | os.X_OK)):
            return Path(os.path.realpath(place))
    return target_of(path)


def _shared_value(text: str, texts: Data, *, decode: bool) -> Any:
    """Return the text, or its JSON value, as one object shared by all rows."""
    key = f"j{text}" if decode else f"t{text}"
    if key not in texts:
        texts[key] = json.loads(text) if decode else text
    return texts[key]


def _encode(row: Row) -> list[object]:
    cells = []
    for name in FIELDS:
        value: Any = getattr(row, name)
        value = dataclasses.asdict(value) if isinstance(value, Primary) else value
        value = one_line(value, MAX_TEXT) if isinstance(value, str) else value
        cells.append(canonical_json(value) if name in JSON_FIELDS and value is not None else value)
    return [*cells, checksum_of(cells)]


def checksum_of(cells: Sequence[object]) -> str:
    """Return the SHA-256 of a row's non-empty cells, so that fields may be added to rows later.

    Numbers are hashed as SQLite returns them: columns have no types.
    """
    cells_by_name = {name: cell for name, cell in zip(FIELDS, cells, strict=True) if cell is not None}
    return hashlib.sha256(json.dumps(cells_by_name, sort_keys=True).encode()).hexdigest()


@contextlib.contextmanager
def _as_invalid_file(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as InvalidFile."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise InvalidFile(
            f"{path}: another run has stored the same rows meanwhile ({error}); let one end, then --resume the other"
        ) from None
    except sqlite3.OperationalError as error:
        raise InvalidFile(f"{path}: cannot be used as a store: {error}; choose another place") from None
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # damage in the file's own bytes
        raise InvalidFile(f"{path}: is not a store that mlsched bench wrote: {error}; choose another file") from None
