"""Whatever a program writes: a check says what is wrong with it, or what it passes is seen as unchanged."""

from __future__ import annotations

from functools import cache
from typing import Any

import talk
from hypothesis import given
from hypothesis import strategies as st

from infra.provider.values import UNKNOWN, Decoded

PLAIN = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
WORDS = st.sampled_from(["name", "namespace", "labels", "annotations", "pulumi.com/waitFor", "data", "stringData", "spec", "values", "a"])
VALUES = st.recursive(
    PLAIN | st.just(UNKNOWN), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=6
)
METADATA = st.dictionaries(WORDS, VALUES, max_size=3) | VALUES
NEWS = st.dictionaries(WORDS | st.sampled_from(["apiVersion", "kind", "chart", "version", "repositoryOpts", "timeout"]), VALUES, max_size=5)


TOKENS = [talk.CONFIG_MAP, talk.SECRET, talk.DEPLOYMENT, talk.RELEASE, "kubernetes:shop.example/v1:Basket"]
before_no_cluster = cache(talk.Engine)


@given(token=st.sampled_from(TOKENS), news=NEWS, metadata=METADATA)
def test_nothing_odd_breaks_it(token: str, news: dict[str, Any], metadata: Any) -> None:
    """No call of the engine ends in anything but an answer or a sentence."""
    engine = before_no_cluster()
    answer = engine.check(token, news if token == talk.RELEASE else news | {"metadata": metadata})
    inputs = Decoded(answer.inputs).values
    assert all(one.reason for one in answer.failures)
    if not answer.failures:
        state = inputs | {"__inputs": inputs}
        changes = talk.kinds(engine.diff(token, state, inputs))
        assert all(kind.startswith("UPDATE") for kind in changes.values()), "only what is not known yet may become another"
        assert engine.create(token, answer.inputs, preview=True).properties
