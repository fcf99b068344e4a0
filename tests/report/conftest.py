"""Stacks to report on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.check import Checked, StackFile, check
from infra.declared import Declared

HOSTILE = '</script><script>document.title = "taken"</script><img src=x onerror=alert(1)>&amp;\u202e%{x}"\''
"""A name that tries every way out of a page."""


@pytest.fixture
def checked(base: dict[str, Any], stack_file: Callable[..., Path]) -> Callable[..., Checked]:
    """A stack of the least file with more keys, and resources besides what the file declares."""

    def of(more: dict[str, Any] | None = None, *extra: Declared, stack: str = "try") -> Checked:
        one = check(StackFile(stack, stack_file(base | (more or {}), stack)))
        return Checked(one.file, one.spec, [*one.resources, *extra])

    return of
