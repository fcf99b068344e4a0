"""
Interfaces of Google's that the packaged documents of its Python client do not have, in the same form. Only what this project calls is
here. `cloudquotas.v1`: by `google/api/cloudquotas/v1/*.proto` of googleapis/googleapis at 6825e4a644ab, read 2026-11.
"""

from __future__ import annotations

from pathlib import Path


def find(api: str) -> Path | None:
    """The document of an API, such as `cloudquotas.v1`; None where it is none of these."""
    path = Path(__file__).parent / f"{api}.json"
    return path if path.is_file() else None
