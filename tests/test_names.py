"""Physical names: stable, distinct, within each service's length and alphabet."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from infra import names

WORDS = st.from_regex(r"[a-z](?:[a-z0-9-]{0,60}[a-z0-9])?", fullmatch=True)
PROJECTS = st.from_regex(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", fullmatch=True)


@given(stack=WORDS, purpose=WORDS)
def test_names_fit_their_services(stack: str, purpose: str) -> None:
    """Names keep to RFC 1035 and to 63, and account ids to 6 to 30 characters."""
    assert re.fullmatch(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?", names.resource(stack, purpose))
    assert re.fullmatch(r"[a-z](?:[a-z0-9-]{0,56}[a-z0-9])?", names.group_base(stack, "tpu", purpose))
    assert len(names.service_account_id(stack, f"tpu-{purpose}")) <= 30
    assert re.fullmatch(r"[a-z][a-z0-9-]*[a-z0-9]", names.service_account_id(stack, f"tpu-{purpose}"))


@given(project=PROJECTS, stack=WORDS, purpose=WORDS)
def test_a_bucket_carries_its_project(project: str, stack: str, purpose: str) -> None:
    """Bucket names are one namespace for everybody."""
    name = names.bucket(project, stack, purpose)
    assert name.startswith(project)
    assert len(name) <= 63


@given(stack=WORDS)
def test_a_pool_of_identities_has_a_name_that_google_takes(stack: str) -> None:
    """Whatever the stack is called: `gcp-` at the front is Google's own."""
    assert re.fullmatch(r"(?!gcp-)[a-z0-9-]{4,32}", names.identity_pool(stack))
    assert names.identity_pool("gcp-once") == "pipeline-gcp-once"


@given(one=WORDS, other=WORDS)
def test_long_names_stay_apart(one: str, other: str) -> None:
    """Two purposes never share a shortened name."""
    if one != other:
        assert names.service_account_id("stack", one * 3) != names.service_account_id("stack", other * 3)
        assert names.group_base("stack", one * 3) != names.group_base("stack", other * 3)


@given(project=PROJECTS, stack=WORDS, name=WORDS)
def test_an_endpoint_id_is_nine_digits(project: str, stack: str, name: str) -> None:
    """Nine digits without a leading zero, the same each time."""
    number = names.endpoint_id(project, stack, name)
    assert re.fullmatch(r"[1-9][0-9]{8}", number)
    assert number == names.endpoint_id(project, stack, name)


def test_names_do_not_move() -> None:
    """A name is a contract: another one would replace what stands."""
    assert names.service_account_id("asia-east1", "tpu-train-recommender") == "asia-east1-tpu-train-f7ab78a1"
    assert names.bucket("tw-shop-ml", "asia-east1", "data") == "tw-shop-ml-asia-east1-data"
