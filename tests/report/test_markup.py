"""HTML from Python."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from infra.report.markup import Html, data, h, joined, linked, plain
from tests.report.conftest import HOSTILE


def test_text_is_escaped_and_markup_is_not() -> None:
    """In children and in attributes; an attribute that is None is left out."""
    assert h("p", "<b>", h("i", "&"), class_='a"b', id=None) == '<p class="a&quot;b">&lt;b&gt;<i>&amp;</i></p>'
    assert h("meta", http_equiv="x") == '<meta http-equiv="x">'
    assert joined(["<", Html("<br>")]) == "&lt;<br>"


@given(st.text())
def test_no_text_leaves_its_element(text: str) -> None:
    """Whatever a name holds, surrogates and control characters too: one element, which can be written."""
    made = h("p", text, title=text)
    assert (made.count("<"), made.count(">")) == (2, 2)
    assert made.encode().decode() == made


@given(st.recursive(st.text() | st.floats(allow_nan=False) | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_no_data_leaves_its_script(value: object) -> None:
    """And a script reads back what was put in."""
    made = data(value, data_plot="x")
    inside = made.removeprefix('<script type="application/json" data-plot="x">').removesuffix("</script>")
    assert not set(inside) & set("<>&")
    assert json.loads(inside) == value


def test_data_of_a_hostile_name_cannot_end_the_script() -> None:
    """The case that the escape is for."""
    assert data([HOSTILE]).count("</script>") == 1


def test_what_turns_the_direction_of_writing_is_shown_as_its_escape() -> None:
    """A name cannot look like another one."""
    assert plain("a\u202eb\x1b[0m\ud800") == "a\\u202eb\\x1b[0m\\ud800"
    assert plain("臺灣 é") == "臺灣 é"


def test_addresses_in_a_source_are_links_and_nothing_else_is() -> None:
    """Without what ends the sentence around them."""
    assert linked("page (https://a.example/x?y=1&z), javascript:alert(1)") == (
        'page (<a href="https://a.example/x?y=1&amp;z" rel="noreferrer noopener">https://a.example/x?y=1&amp;z</a>), javascript:alert(1)'
    )
