"""
Waits in a cluster, until an object is ready and until one is gone: asked again after growing times of the sandbox, with progress told.
"""

from __future__ import annotations

from collections.abc import Callable

from infra.local.kubernetes.kinds import Kind
from infra.local.kubernetes.manifest import Data, annotation, dig, name_of, namespace_of, says_true
from infra.local.kubernetes.ready import Seen, rule
from infra.local.kubernetes.rest import Client
from infra.provider.calls import CancelledError
from infra.provider.server import ProviderError

Tell = Callable[[str], None]

DEFAULT_SECONDS = 600.0
FIRST_SECONDS = 1.0
"""Of the sandbox's time, until an object is looked at again."""
GROWTH = 1.5
GONE_AT_ONCE = {
    ("", "Namespace"),
    ("", "Pod"),
    ("", "ReplicationController"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
}
"""Kinds whose `pulumi.com/skipAwait` counts at a delete, too. Source: pulumi-kubernetes at 2026-07 (`allowsSkipAwaitWithDelete`)."""


class NotReadyError(ProviderError):
    """
    The object is there, and not ready.

    Args:
        message: What became of the wait.
        live: The object as it was seen last.
        reasons: What keeps it.
    """

    def __init__(self, message: str, live: Data, reasons: tuple[str, ...]) -> None:
        super().__init__(message)
        self.live = live
        self.reasons = reasons


def until_ready(client: Client, kind: Kind, made: Data, inputs: Data, given: float, tell: Tell) -> Data:
    """
    The object when it is ready.

    Args:
        made: As the cluster answered to the write.
        inputs: What the program says of it, to the provider as well.
        given: Seconds of the resource's own timeout; 0 where it has none.

    Raises:
        NotReadyError: It did not become so in time, will not, or the user cancelled.
    """
    how = rule(kind, inputs)
    if how is None:
        return made
    clock = Deadline(client, seconds(given, inputs, how.seconds))
    live, seen, told = made, Seen(False), ""
    while True:
        try:
            live = client.get(kind, namespace_of(made), name_of(made))
            seen = how.judge(client, live)
            if seen.ready:
                return live
            if seen.says != told:
                told = seen.says
                tell(told)
            if seen.failed:
                raise NotReadyError(f"Resource '{name_of(made)}' was created but failed to initialize", live, seen.problems)
            if not clock.goes_on():
                raise NotReadyError(f"'{name_of(made)}' timed out waiting to be Ready", live, seen.problems or _said(seen))
        except CancelledError:
            raise NotReadyError(f'Resource operation was cancelled for "{name_of(made)}"', live, seen.problems) from None


def once(client: Client, kind: Kind, live: Data, inputs: Data) -> None:
    """
    Looks whether an object that is read is ready.

    Raises:
        NotReadyError: It is not.
    """
    how = rule(kind, inputs)
    if how is None or not how.read:
        return
    seen = how.judge(client, live)
    if not seen.ready:
        raise NotReadyError(f"Resource '{name_of(live)}' was created but failed to initialize", live, seen.problems or _said(seen))


def until_gone(client: Client, kind: Kind, namespace: str, name: str, inputs: Data, given: float, tell: Tell) -> None:
    """
    Raises:
        ProviderError: It is still there when the time is over.
        CancelledError: The user cancelled.
    """
    if says_true(inputs, "skipAwait") and (kind.group, kind.name) in GONE_AT_ONCE:
        return
    limit = seconds(given, inputs, DEFAULT_SECONDS)
    clock, told = Deadline(client, limit), ""
    while (live := client.there(kind, namespace, name)) is not None:
        held = ", ".join(map(str, dig(live, "metadata", "finalizers") or []))
        if not clock.goes_on():
            why = f"\n  finalizers might be preventing deletion ({held})" if held else ""
            raise ProviderError(f"{kind.name} {name}: timed out waiting for the condition: it is still there after {limit:g} s{why}")
        says = f"Waiting for {kind.name} {name} to be gone" + (f" ({held})" if held else "")
        if says != told:
            told = says
            tell(told)


class Deadline:
    """
    How long to wait, by the sandbox's clock.

    Args:
        client: The cluster in it.
        seconds: Of waiting.
    """

    def __init__(self, client: Client, seconds: float) -> None:
        self._client = client
        self._seconds = seconds
        self._ends: float | None = None
        self._step = FIRST_SECONDS

    def goes_on(self) -> bool:
        """
        Lets some time pass. False where there is none left.

        Raises:
            CancelledError: The user cancelled.
        """
        now = self._client.time()
        if self._ends is None:
            self._ends = now + self._seconds
        if now >= self._ends:
            return False
        self._client.time(min(self._step, self._ends - now))
        self._step = min(self._step * GROWTH, self._client.longest_poll_seconds)
        return True


def seconds(given: float, inputs: Data, default: float) -> float:
    """How long to wait: the resource's own timeout, what the program says by annotation, or as the kind has it."""
    if given:
        return given
    said = annotation(inputs, "timeoutSeconds")
    return float(said) if said.isascii() and said.isdigit() else default


def _said(seen: Seen) -> tuple[str, ...]:
    return (seen.says,) if seen.says else ()
