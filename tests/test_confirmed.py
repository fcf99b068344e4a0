"""What a stack file may confirm by name, and that nothing is confirmed in vain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.check import StackFile, check, stack_files
from infra.errors import SpecError
from infra.stack import StackSpec

Write = Callable[..., Path]
ENTRY = {"what": "v6e-8", "zone": "us-east5-c", "because": "Google's sales said so on 2026-11-12"}


@pytest.fixture
def weak(base: dict[str, Any], a_slice: dict[str, Any]) -> dict[str, Any]:
    """A stack with a machine in a zone that one weak source has."""
    return base | {"accelform:tpu_slices": {"eval": a_slice | {"accelerator_type": "v6e-8", "zone": "us-east5-c"}}}


@pytest.mark.parametrize(
    "entry", [ENTRY, ENTRY | {"what": "tpu-v6e"}, {"what": "ct6e-standard-8t", "region": "us-east5", "because": "I saw it"}]
)
def test_what_is_confirmed_is_neither_refused_nor_found(weak: dict[str, Any], entry: dict[str, Any], stack_file: Write) -> None:
    """Without the entry the file is refused; with it the stack has no finding, and the machine stands where it should."""
    with pytest.raises(SpecError, match="by one weak source only"):
        StackSpec.load(stack_file(weak))
    checked = check(StackFile("try", stack_file(weak | {"accelform:confirmed": [entry]})))
    assert checked.findings == []
    assert [one.get("zone") for one in checked.resources if one.type.endswith(":Instance")] == ["us-east5-c"]


def test_check_says_what_was_believed(weak: dict[str, Any], stack_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """What no source vouches for is not passed over in silence."""
    from infra.cli import check as command

    path = stack_file(weak | {"accelform:confirmed": [ENTRY]})
    command.run([str(path)], path.parent, as_json=False)
    assert "confirmed by name: v6e-8 in us-east5-c: Google's sales said so on 2026-11-12" in capsys.readouterr().out


def test_a_way_of_buying_may_be_confirmed(base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write) -> None:
    """No list of flex-start zones names asia-east1-c, and none of Asia is complete."""
    nightly = a_slice | {"accelerator_type": "v5litepod-4", "zone": "asia-east1-c", "provisioning": "flex-start", "max_run_minutes": 60}
    config = base | {"accelform:region": "asia-east1", "accelform:tpu_slices": {"nightly": nightly}}
    with pytest.raises(SpecError, match="no list of flex-start zones that was read names it"):
        StackSpec.load(stack_file(config))
    entry = {"what": "v5litepod-4", "zone": "asia-east1-c", "because": "it ran there last night"}
    assert StackSpec.load(stack_file(config | {"accelform:confirmed": [entry]})).tpu_slices["nightly"].zone == "asia-east1-c"


def test_the_engine_hands_it_over_too(weak: dict[str, Any], stack_file: Write) -> None:
    """Objects and lists come as JSON."""
    import json

    config = weak | {"accelform:confirmed": [ENTRY]}
    text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    assert StackSpec.from_engine(text, "try") == StackSpec.load(stack_file(config))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"what": "v6e-9"}, "is no accelerator and no machine type with accelerators"),
        ({"what": "v5e-8"}, "set v5litepod-8"),
        ({"what": ""}, "is no accelerator"),
        ({"what": 8}, "is not text"),
        ({"zone": "us-east5"}, "is a region, not a zone"),
        ({"zone": "us-east55-c"}, "is not a zone of Google Cloud"),
        ({"zone": "asia-east1-a"}, "is not in the stack's region"),
        ({"region": "us-east5"}, "says one place"),
        ({"zone": None}, "says one place"),
        ({"zone": None, "region": "asia-east1"}, "is not the stack's region"),
        ({"because": "yes"}, "does not say why"),
        ({"because": "a\u0000b c"}, "is not a line of text"),
        ({"zone": "us-east5-a"}, "is of no use: us-east5-a is known to have v6e-8"),
        ({"what": "v4-8"}, "cannot be: v4-8 in us-east5-c is impossible"),
        ({"what": "v6e-4"}, "is used by nothing"),
        ({"what": "nvidia-l4"}, "is used by nothing"),
        ({"who": "me"}, "is not a key here"),
    ],
)
def test_entries_that_do_nothing_are_refused(weak: dict[str, Any], change: dict[str, Any], message: str, stack_file: Write) -> None:
    """A name that is none, a place that is none or elsewhere, no reason; what works, what cannot be, and what nobody needs."""
    entries = [ENTRY, {key: value for key, value in (ENTRY | change).items() if value is not None}]
    with pytest.raises(SpecError) as caught:
        StackSpec.load(stack_file(weak | {"accelform:confirmed": entries}))
    assert message in str(caught.value)
    assert "confirmed.1" in str(caught.value)


def test_an_entry_without_a_machine_is_refused(base: dict[str, Any], stack_file: Write) -> None:
    """It would be believed by the next reader."""
    with pytest.raises(SpecError, match=r"confirmed\.0: is used by nothing"):
        StackSpec.load(stack_file(base | {"accelform:confirmed": [ENTRY]}))


def test_the_impossible_stays_refused(base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write) -> None:
    """v4 in us-east5: the entry does not help, and says so itself."""
    v4 = a_slice | {"accelerator_type": "v4-8", "zone": "us-east5-c"}
    with pytest.raises(SpecError) as caught:
        StackSpec.load(stack_file(base | {"accelform:tpu_slices": {"eval": v4}, "accelform:confirmed": [ENTRY | {"what": "v4-8"}]}))
    assert "does not offer v4-8" in str(caught.value)
    assert "a confirmation does not change that" in str(caught.value)


@pytest.mark.parametrize(
    ("what", "region", "zone"), [("tpu7x-384", "us-central1", "us-central1-c"), ("v5p-17920", "us-east5", "us-east5-a")]
)
def test_a_shape_that_no_good_source_has_is_taken_by_name(
    what: str, region: str, zone: str, base: dict[str, Any], stack_file: Callable[..., Path]
) -> None:
    """Refused, and taken once it is confirmed; the rules then hold too."""
    one = {"accelerator_type": what, "zone": zone, "provisioning": "on-demand", "max_run_minutes": 60, "because": "one hour"}
    config = base | {"accelform:region": region, "accelform:tpu_slices": {"train": one}}
    with pytest.raises(SpecError, match=f"train.accelerator_type.*\\n.*under `confirmed`: what {what}, zone {zone}"):
        StackSpec.load(stack_file(config))
    path = stack_file(config | {"accelform:confirmed": [{"what": what, "zone": zone, "because": "our account team said so"}]})
    assert StackSpec.load(path).tpu_slices["train"].shape.hosts > 1
    assert check(stack_files([str(path)], path.parent)[0]).findings == []


@pytest.mark.parametrize("what", ["v6e-16", "tpu-v6e", "ct6e-standard-4t"])
def test_hosts_of_a_slice_are_confirmed_as_their_slice_is(weak: dict[str, Any], what: str, stack_file: Write) -> None:
    """A template says neither zone nor slice: that one slice of its machines is confirmed in one zone of the region is enough."""
    one = weak["accelform:tpu_slices"]["eval"] | {"accelerator_type": "v6e-16", "zone": "us-south1-a"}
    config = weak | {"accelform:region": "us-south1", "accelform:tpu_slices": {"eval": one}}
    entry = {"what": what, "zone": "us-south1-a", "because": "Google's sales said so on 2026-11-12"}
    path = stack_file(config | {"accelform:confirmed": [entry]})
    assert check(stack_files([str(path)], path.parent)[0]).findings == []
