"""
Versions of a stack's state in a bucket that keeps them, and how an older one becomes the newest again.

The engine writes `.pulumi/stacks/PROJECT/STACK.json` at each step of an update, under a lock that is an object of its own. Both stay as
noncurrent versions: so a lock that is long gone still says who wrote.

Source: github.com/pulumi/pulumi, `pkg/backend/diy` of 3.274.1: `lock.go`, `state.go`, `store.go`.
"""

from __future__ import annotations

import base64
import datetime as dt
import getpass
import hashlib
import json
import os
import re
import socket
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from infra.errors import AccelformError, ExitCode
from infra.operate.state_file import DamagedError, State
from infra.provider.calls import GoogleError
from infra.provider.google import NOT_THERE, Google
from infra.provider.json_object import API, CHANGED
from infra.provider.server import ProviderError

KEPT = re.compile(r"\.json(\.gz)?")
"""What a state's name ends with. `.bak` is the engine's own copy, which the versions make needless."""


class LockedError(AccelformError):
    """Somebody works on the stack, or died over it."""

    exit_code = ExitCode.ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Lock:
    """Who worked on a stack, and when."""

    name: str
    who: str
    """`ann@laptop`; empty where it does not say."""
    since: dt.datetime
    until: dt.datetime | None
    """None: it is there now."""

    def covers(self, moment: dt.datetime) -> bool:
        """Whether what was written then was written under it."""
        return self.since <= moment and (self.until is None or moment <= self.until)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the state's object."""

    generation: int
    name: str
    written: dt.datetime
    ended: dt.datetime | None
    """When another took its place, or it was deleted; None where it is the live one."""
    size: int
    md5: str
    lock: Lock | None
    """Under which it was written, where that is known."""

    @property
    def is_live(self) -> bool:
        """Whether the engine reads it."""
        return self.ended is None


class States:
    """
    The state of one stack in one bucket.

    Args:
        prefix: Folder of the bucket that the backend is in; empty for the bucket itself.
        project: The engine's name of the project: `accelform`.
    """

    def __init__(self, google: Google, bucket: str, prefix: str, project: str, stack: str) -> None:
        self._google = google
        self._bucket = bucket
        self._root = f"{prefix.strip('/')}/.pulumi".lstrip("/")
        self._base = f"{self._root}/stacks/{project}/{stack}"
        self._locks = f"{self._root}/locks/organization/{project}/{stack}/"
        self.stack = f"organization/{project}/{stack}"
        self.address = f"gs://{bucket}/{self._base}.json"

    def versions(self) -> list[Version]:
        """
        Every version that is there, newest first; none where there is no such state.

        Raises:
            GoogleError: The bucket is not there, or may not be read.
        """
        found = self._listed(f"{self._base}.json", versions=True)
        mine = [one for one in found if KEPT.fullmatch(one["name"].removeprefix(self._base))]
        locks = self.locks(old=True) if mine else []
        read = [self._version(one, locks) for one in mine]
        return sorted(read, key=lambda one: (one.is_live, one.generation), reverse=True)

    def _version(self, item: dict[str, Any], locks: Sequence[Lock]) -> Version:
        written = dt.datetime.fromisoformat(item["timeCreated"])
        ended = item.get("timeDeleted")
        return Version(
            generation=int(item["generation"]),
            name=item["name"],
            written=written,
            ended=dt.datetime.fromisoformat(ended) if ended else None,
            size=int(item["size"]),
            md5=item.get("md5Hash", ""),
            lock=next((one for one in locks if one.covers(written)), None),
        )

    def read(self, version: Version) -> State:
        """
        Raises:
            DamagedError: It is no whole state of this stack.
            ProviderError: It did not come as it is there.
        """
        content = self._google.content(
            API, "objects.get_media", bucket=self._bucket, object=version.name, generation=str(version.generation)
        )
        digest = base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()
        if version.md5 and digest != version.md5:
            raise ProviderError(f"{self.address}#{version.generation}: came damaged: its MD5 is {digest}, and should be {version.md5}")
        return State.read(content, self.stack, name=version.name)

    def locks(self, *, old: bool = False) -> list[Lock]:
        """The locks on the stack; with *old* those too that are gone, whose versions are read for who had them."""
        return [self._lock(one) for one in self._listed(self._locks, versions=old)]

    def _lock(self, item: dict[str, Any]) -> Lock:
        said: Any = {}
        with suppress(ValueError, GoogleError):  # one that an engine was killed over, or that went away just now
            content = self._google.content(
                API, "objects.get_media", bucket=self._bucket, object=item["name"], generation=str(item["generation"])
            )
            said = json.loads(content)
        who = f"{said['username']}@{said['hostname']}" if isinstance(said, dict) and {"username", "hostname"} <= said.keys() else ""
        ended = item.get("timeDeleted")
        return Lock(
            f"gs://{self._bucket}/{item['name']}",
            who,
            dt.datetime.fromisoformat(item["timeCreated"]),
            dt.datetime.fromisoformat(ended) if ended else None,
        )

    def others(self) -> list[str]:
        """Stacks whose state is in the bucket, or was."""
        folder = self._base.rpartition("/")[0] + "/"
        names = {one["name"].removeprefix(folder) for one in self._listed(folder, versions=True)}
        return sorted({KEPT.sub("", name) for name in names if KEPT.search(name) and not name.endswith((".bak", "/"))})

    def check_unlocked(self, *, own: str = "") -> None:
        """
        Raises:
            LockedError: Somebody has a lock on the stack.
        """
        for lock in self.locks():
            if own and lock.name.endswith(own):
                continue
            who = lock.who or "somebody"
            raise LockedError(
                f"{self.address}: locked by {who} since {stamp(lock.since)}: nothing was restored\n"
                f"  fix: wait for that run. Where it is known to be dead: gcloud storage rm {lock.name}"
            )

    def make_newest(self, version: Version, state: State | None = None) -> int:
        """
        Copies a version in front of all others, and deletes none; says its new generation.

        Args:
            state: What is written instead of its bytes.

        Raises:
            LockedError: Somebody works on the stack.
            ProviderError: Somebody wrote a newer one meanwhile.
        """
        with self._locked():
            live = next((one for one in self.versions() if one.is_live and one.name == version.name), None)
            last = str(live.generation if live else 0)
            try:
                made = self._copied(version, last) if state is None else self._written(version.name, state, last)
            except GoogleError as error:
                if error.code == CHANGED:
                    raise ProviderError(f"{self.address}: somebody wrote a newer version meanwhile: nothing was restored") from None
                raise
        return int(made)

    def _copied(self, version: Version, last: str) -> str:
        names: dict[str, Any] = {"sourceBucket": self._bucket, "sourceObject": version.name}
        names |= {"destinationBucket": self._bucket, "destinationObject": version.name}
        token: dict[str, Any] = {}
        while True:  # a large object is copied in several calls
            answer = self._google.call(
                API,
                "objects.rewrite",
                **names,
                **token,
                sourceGeneration=str(version.generation),
                ifGenerationMatch=last,
                body={},
            )
            if answer.get("done"):
                return str(answer["resource"]["generation"])
            token = {"rewriteToken": answer["rewriteToken"]}

    def _written(self, name: str, state: State, last: str) -> str:
        from googleapiclient.http import MediaInMemoryUpload

        media = MediaInMemoryUpload(state.packed(name), mimetype="application/json")
        made = self._google.call(API, "objects.insert", bucket=self._bucket, name=name, ifGenerationMatch=last, media_body=media)
        return str(made["generation"])

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """A lock as the engine's own, so that none begins an update meanwhile. It is taken as the engine takes it: look, write, look."""
        from googleapiclient.http import MediaInMemoryUpload

        self.check_unlocked()
        name = f"{self._locks}{uuid.uuid4()}.json"
        now = dt.datetime.fromtimestamp(self._google.time(), dt.UTC).isoformat()
        said = {"pid": os.getpid(), "username": getpass.getuser(), "hostname": socket.gethostname(), "timestamp": now}
        media = MediaInMemoryUpload(json.dumps(said).encode(), mimetype="application/json")
        self._google.call(API, "objects.insert", bucket=self._bucket, name=name, media_body=media)
        try:
            self.check_unlocked(own=name)
            yield
        finally:
            self._google.call(API, "objects.delete", bucket=self._bucket, object=name)

    def _listed(self, prefix: str, *, versions: bool) -> list[dict[str, Any]]:
        return self._google.pages(API, "objects.list", "items", bucket=self._bucket, prefix=prefix, versions=versions)


def ends(versions: Sequence[Version]) -> list[Version]:
    """Of each update the last version that it wrote: those between are steps, with something begun in them. Newest first."""
    found: list[Version] = []
    seen: set[str] = set()
    for one in versions:
        if one.lock is None or one.lock.name not in seen or one.is_live:
            found.append(one)
        if one.lock is not None:
            seen.add(one.lock.name)
    return found


def as_of(versions: Sequence[Version], moment: dt.datetime) -> Version | None:
    """The version that was the live one then; None where there was none."""
    return next((one for one in versions if one.written <= moment and (one.ended is None or moment < one.ended)), None)


def whole(states: States, versions: Sequence[Version], limit: int = 20) -> tuple[Version, State] | None:
    """The first of some versions that can be read; None where none of so many can."""
    for one in versions[:limit]:
        try:
            return one, states.read(one)
        except DamagedError:
            continue
    return None


def stamp(moment: dt.datetime) -> str:
    """In UTC, by the second, rounded down."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_missing(error: Exception) -> bool:
    """Whether Google says that there is no such bucket."""
    return isinstance(error, GoogleError) and error.code == NOT_THERE
