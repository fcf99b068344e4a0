"""What stands in the sandbox, in one SQLite file: it outlives a command and a killed server."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TABLES = """
CREATE TABLE IF NOT EXISTS resources (
  service TEXT NOT NULL, name TEXT NOT NULL, collection TEXT NOT NULL, body TEXT NOT NULL, made INTEGER PRIMARY KEY AUTOINCREMENT,
  UNIQUE (service, name)
);
CREATE INDEX IF NOT EXISTS collections ON resources (service, collection);
CREATE TABLE IF NOT EXISTS operations (
  name TEXT PRIMARY KEY, service TEXT NOT NULL, target TEXT NOT NULL, ends REAL NOT NULL, done INTEGER NOT NULL, body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS pending ON operations (done, ends);
CREATE TABLE IF NOT EXISTS timers (service TEXT NOT NULL, name TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (service, name));
CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


class Store:
    """Resources by service and name, operations, and single facts. Each request is one transaction."""

    def __init__(self, path: Path | None = None) -> None:
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(TABLES)
        self.saw: Callable[[str, str, dict[str, Any] | None], None] = lambda service, name, body: None
        """Told of every resource that is made or changed, and of each that is removed (body: None): service, name, body."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is done within it stays, or none where it ends with an exception. There may be one within another."""
        inner = self._db.in_transaction
        self._db.execute("SAVEPOINT inner" if inner else "BEGIN")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK TO inner" if inner else "ROLLBACK")
            if inner:
                self._db.execute("RELEASE inner")
            raise
        self._db.execute("RELEASE inner" if inner else "COMMIT")

    def close(self) -> None:
        self._db.close()

    def get(self, service: str, name: str) -> dict[str, Any] | None:
        row = self._db.execute("SELECT body FROM resources WHERE service = ? AND name = ?", (service, name)).fetchone()
        return json.loads(row[0]) if row else None

    def put(self, service: str, name: str, body: dict[str, Any], collection: str | None = None) -> None:
        """Makes or changes one. *collection* is all of the name but its last word, unless said otherwise."""
        self._db.execute(
            "INSERT INTO resources (service, name, collection, body) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (service, name) DO UPDATE SET body = excluded.body",
            (service, name, name.rpartition("/")[0] if collection is None else collection, json.dumps(body)),
        )
        self.saw(service, name, body)

    def delete(self, service: str, name: str) -> None:
        """Removes one and all that is inside it."""
        gone = self._db.execute(
            "DELETE FROM resources WHERE service = ? AND (name = ? OR substr(name, 1, ?) = ?) RETURNING name",
            (service, name, len(name) + 1, name + "/"),
        ).fetchall()
        self._db.execute(
            "DELETE FROM timers WHERE service = ? AND (name = ? OR substr(name, 1, ?) = ?)", (service, name, len(name) + 1, name + "/")
        )
        for (one,) in gone:
            self.saw(service, one, None)

    def items(self, service: str, collection: str) -> list[tuple[str, dict[str, Any]]]:
        """Names and bodies of a collection, oldest first."""
        rows = self._db.execute(
            "SELECT name, body FROM resources WHERE service = ? AND collection = ? ORDER BY made", (service, collection)
        )
        return [(name, json.loads(body)) for name, body in rows]

    def of_kind(self, service: str, word: str) -> list[tuple[str, dict[str, Any]]]:
        """Names and bodies of all whose collection ends with *word*, oldest first: `of_kind(HOST, "instances")`."""
        rows = self._db.execute(
            "SELECT name, body FROM resources WHERE service = ? AND substr(collection, ?) = ? ORDER BY made",
            (service, -len(word) - 1, f"/{word}"),
        )
        return [(name, json.loads(body)) for name, body in rows]

    def every(self, service: str = "", prefix: str = "") -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Service, name and body of all, oldest first."""
        rows = self._db.execute(
            "SELECT service, name, body FROM resources WHERE (? = '' OR service = ?) AND substr(name, 1, ?) = ? ORDER BY made",
            (service, service, len(prefix), prefix),
        ).fetchall()
        for found, name, body in rows:
            yield found, name, json.loads(body)

    def operation(self, name: str) -> dict[str, Any] | None:
        row = self._db.execute("SELECT body, done FROM operations WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) | {"done": bool(row[1])} if row else None

    def put_operation(self, name: str, service: str, target: str, ends: float, body: dict[str, Any], *, done: bool) -> None:
        self._db.execute(
            "INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET ends = excluded.ends, done = excluded.done, "
            "body = excluded.body",
            (name, service, target, ends, done, json.dumps(body)),
        )

    def due(self, until: float) -> dict[str, Any] | None:
        """The operation that ends first, by *until*, and was not ended yet."""
        row = self._db.execute("SELECT body FROM operations WHERE done = 0 AND ends <= ? ORDER BY ends, rowid LIMIT 1", (until,)).fetchone()
        return json.loads(row[0]) if row else None

    def pending(self, service: str, target: str) -> list[dict[str, Any]]:
        """Unfinished operations on one resource."""
        rows = self._db.execute(
            "SELECT body FROM operations WHERE done = 0 AND service = ? AND target = ? ORDER BY ends", (service, target)
        ).fetchall()
        return [json.loads(row[0]) for row in rows]

    def operations(self, service: str, prefix: str) -> list[dict[str, Any]]:
        rows = self._db.execute(
            "SELECT body, done FROM operations WHERE service = ? AND substr(name, 1, ?) = ? ORDER BY rowid", (service, len(prefix), prefix)
        ).fetchall()
        return [json.loads(body) | {"done": bool(done)} for body, done in rows]

    def set_timer(self, service: str, name: str, at: float | None) -> None:
        """Has a service woken for a name at a moment, once; a resource's timer goes with it. None: not any more."""
        self._db.execute("DELETE FROM timers WHERE service = ? AND name = ?", (service, name))
        if at is not None:
            self._db.execute("INSERT INTO timers VALUES (?, ?, ?)", (service, name, at))

    def timer(self, until: float) -> dict[str, Any] | None:
        """The first that is due by *until*."""
        row = self._db.execute("SELECT service, name, at FROM timers WHERE at <= ? ORDER BY at, rowid LIMIT 1", (until,)).fetchone()
        return dict(zip(("service", "name", "at"), row, strict=True)) if row else None

    def fact(self, key: str) -> Any:
        row = self._db.execute("SELECT value FROM facts WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def set_fact(self, key: str, value: Any) -> None:
        self._db.execute("INSERT INTO facts VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, json.dumps(value)))

    def next(self, counter: str) -> int:
        """1, 2, 3 and so on."""
        value = int(self.fact(counter) or 0) + 1
        self.set_fact(counter, value)
        return value
