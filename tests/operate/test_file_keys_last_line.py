"""A stack file whose last line is not ended: a key that is added is a line of its own."""

from __future__ import annotations

import pytest

from infra.operate import file_keys


@pytest.mark.parametrize("end", ["", "\n", "  # said"])
def test_a_key_behind_a_last_line_that_is_not_ended(end: str) -> None:
    text = file_keys.edited(f"config:\n  a: 1\n  b:\n    c: 1200 USD{end}", {("config", "d"): 2})
    assert text.splitlines()[-1] == "  d: 2"
    assert text.splitlines()[-2].startswith("    c: 1200 USD")
