"""A model of the stack file, by the real engine and the accelform provider: up, nothing to do, another image, gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.engine.region import STACK, Region
from tests.engine.vertex import Vertex, model


def versions(here: Region) -> dict[str, tuple[str, list[str]]]:
    """Version -> last letter of its image, its aliases."""
    return {one["versionId"]: (one["containerSpec"]["imageUri"][-1], sorted(one["versionAliases"])) for one in Vertex(here).versions}


def test_a_model_comes_up_stays_changes_and_goes(base: dict[str, Any], region: Callable[[dict[str, Any]], Region]) -> None:
    """Another image is another version of the same model, in place; a destroy leaves none."""
    base["accelform:models"] = {"recommender": model("a", env={"BATCH": "8"})}
    here = region(base)
    first = here.accelform("up", "--json")
    assert first.code == 0, first.out + first.err
    assert set(first.changes) == {"create"}
    assert versions(here) == {"1": ("a", ["candidate", "champion", "default"])}
    assert set(here.accelform("up", "--json").changes) == {"same"}
    options = ("--yes", "--skip-preview", "--expect-no-changes", "--stack", STACK, "--non-interactive")
    refreshed = here.pulumi("refresh", *options)
    assert refreshed.code == 0, refreshed.out + refreshed.err

    here.write(base | {"accelform:models": {"recommender": model("b", env={"BATCH": "8"})}})
    assert here.accelform("up", "--json").changes["update"] == 1
    assert versions(here) == {"1": ("a", ["champion", "default"]), "2": ("b", ["candidate"])}
    assert set(here.accelform("up", "--json").changes) == {"same"}

    gone = here.accelform("down", "--json")
    assert (gone.code, gone.json["left"]) == (0, []), gone.out + gone.err
