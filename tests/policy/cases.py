"""Fixtures of the rules: what passes and what fails, as a file writes it, in process and over the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from infra.declared import UNKNOWN, Declared, Secret

FOLDER = Path(__file__).parent / "cases"
UNKNOWN_TEXT = "<unknown>"
REGION = "us-east5"


def load() -> list[tuple[str, str, dict[str, Any]]]:
    """Rule, name of the case, the case; one that passes has no paths."""
    return [
        (path.parent.name, f"{path.stem}-{name}", {"paths": []} | case)
        for path in sorted(FOLDER.glob("*/*.yaml"))
        for name, case in YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")).items()
    ]


def declared(case: dict[str, Any], name: str = "x") -> Declared:
    inputs, protect, existing = values(case["inputs"]), case.get("protect", False), case.get("existing", False)
    return Declared(type=case["type"], name=name, inputs=inputs, urn="urn:x", protect=protect, existing=existing)


def values(value: Any) -> Any:
    if value == UNKNOWN_TEXT:
        return UNKNOWN
    if isinstance(value, dict):
        return Secret(values(value["secret"])) if set(value) == {"secret"} else {key: values(inner) for key, inner in value.items()}
    return [values(inner) for inner in value] if isinstance(value, list) else value


def known() -> list[tuple[str, str, dict[str, Any]]]:
    """
    For each rule the first failing case that any program can declare: of an official provider, with values that are known and shown. What
    the collector sees of it is what the file says.
    """
    found: dict[str, tuple[str, str, dict[str, Any]]] = {}
    for rule, name, case in load():
        plain = not any(word in str(case) for word in (UNKNOWN_TEXT, "'secret'")) and not case.get("existing")
        if plain and name.startswith("fails") and case["type"].startswith(("gcp:", "kubernetes:")):
            found.setdefault(rule, (rule, name, case))
    return list(found.values())


def program() -> None:
    """Declares each of those, under its rule's name."""
    import pulumi

    for rule, _, case in known():
        pulumi.CustomResource(case["type"], rule, case["inputs"], pulumi.ResourceOptions(protect=case.get("protect", False)))


def wire(value: Any) -> Any:
    """The same as the engine sends it."""
    if value == UNKNOWN_TEXT:
        return "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    if isinstance(value, dict):
        if set(value) == {"secret"}:
            return {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": wire(value["secret"])}
        return {key: wire(inner) for key, inner in value.items()}
    return [wire(inner) for inner in value] if isinstance(value, list) else value
