"""Whether a killed run left something that nobody has looked at yet."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

from infra.errors import AccelformError, ExitCode


class UnsettledError(AccelformError):
    """A create had begun, and nobody knows whether it happened."""

    exit_code = ExitCode.ENVIRONMENT


def check_settled(backend: str, project: str, stack: str) -> None:
    """
    Looks at a stack's state in a file backend, as the program starts: the engine would warn, make the same thing again, and fail.

    Args:
        backend: Such as `file:///home/me/shop/.accelform/state`; another kind is not looked at.

    Raises:
        UnsettledError: A create is pending.
    """
    url = urlsplit(backend)
    path = Path(unquote(url.path)) / ".pulumi" / "stacks" / project / f"{stack}.json"
    if url.scheme != "file" or not path.is_file():
        return
    latest = json.loads(path.read_text(encoding="utf-8"))["checkpoint"].get("latest") or {}
    pending = [one["resource"]["urn"] for one in latest.get("pending_operations") or [] if one["type"] == "creating"]
    if pending:
        raise UnsettledError(
            f"stack {stack}: a killed run was making {len(pending)} resource{'s' if len(pending) > 1 else ''}, which may be there: "
            + ", ".join(urn.rpartition("::")[2] for urn in pending)
            + "\n  fix: accelform recover"
        )
