"""What a run's hosts say, an object each, written when the container has ended; and who wants the run to end."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from infra.provider.google import Google
from workloads.contract import ABORTED_EXIT, DEVICES_EXIT, RESTART_EXIT

HOST = re.compile(r"host-([0-9]{1,6})\.json")
"""What `host_word` makes."""
STOP = "stop.json"
"""By which a person asks for a run's end. It is no part of the journal, which only the runner writes."""
UNREADABLE = -1
"""In the place of an exit code, of a word that says none."""

Verdict = Literal["succeeded", "failed", "restart", "unheard"]


def host_word(number: int) -> str:
    """The object in which a host says its end, in the folder of the try. The start script writes the same."""
    return f"host-{number}.json"


@dataclass(frozen=True, slots=True)
class Said:
    """Exit code by number of the host, of those that have ended."""

    codes: Mapping[int, int]

    def verdict(self, hosts: int) -> Verdict:
        """What it comes to. One that wants to be begun again wins: the others fail since it is gone."""
        bad = {code for code in self.codes.values() if code}
        if RESTART_EXIT in bad or (hosts > 1 and bad == {ABORTED_EXIT}):
            return "restart"
        if bad:
            return "failed"
        return "succeeded" if self.is_whole(hosts) else "unheard"

    def is_whole(self, hosts: int) -> bool:
        """Whether each of them has spoken: an object of a host that there is not says nothing for another one."""
        return all(host in self.codes for host in range(hosts))

    def words(self) -> str:
        """Of those that did not end well."""
        bad = {host: code for host, code in sorted(self.codes.items()) if code}
        said = [f"host {host} ended with {'a word that cannot be read' if code == UNREADABLE else code}" for host, code in bad.items()]
        if DEVICES_EXIT in bad.values():
            said.append(f"{DEVICES_EXIT} means that it does not see the devices that are declared")
        if ABORTED_EXIT in bad.values():
            said.append(f"{ABORTED_EXIT} means that it was aborted, as JAX does when another host is gone")
        return "; ".join(said)


class Words:
    """
    What is said of one run while it works, in its folder: one list tells of all.

    Args:
        google: Google's APIs.
        folder: `gs://BUCKET/.../runs/RUN`.
    """

    def __init__(self, google: Google, folder: str) -> None:
        parts = urlsplit(folder)
        self._google = google
        self._bucket, self._prefix = parts.netloc, f"{parts.path.strip('/')}/"

    def of_try(self, number: int) -> tuple[Said, str]:
        """What the hosts of a try have said so far, and who asked for the run's end, in words; empty where nobody did."""
        names, folder = self._names(), f"{self._prefix}try-{number}/"
        hosts = {int(match[1]): name for name in names if name.startswith(folder) and (match := HOST.fullmatch(name.removeprefix(folder)))}
        return Said({host: _code(self._content(name)) for host, name in hosts.items()}), self._stop(names)

    def stop(self) -> str:
        """Who asked for the run's end."""
        return self._stop(self._names())

    def _stop(self, names: list[str]) -> str:
        name = f"{self._prefix}{STOP}"
        if name not in names:
            return ""
        try:
            found = json.loads(self._content(name))
            return f"stop was asked for by {found['who']} at {found['at']}"
        except (ValueError, KeyError, TypeError, RecursionError):
            return "stop was asked for"

    def _names(self) -> list[str]:
        found = self._google.pages("storage.v1", "objects.list", "items", bucket=self._bucket, prefix=self._prefix)
        return [str(one["name"]) for one in found]

    def _content(self, name: str) -> bytes:
        return self._google.content("storage.v1", "objects.get_media", bucket=self._bucket, object=name)


def _code(content: bytes) -> int:
    try:
        code = json.loads(content)["exit_code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return UNREADABLE
    return code if isinstance(code, int) and not isinstance(code, bool) else UNREADABLE
