"""
Writes the generated parts: `stacks/stack.schema.json`, and the blocks between cog marks in the documents.

    python tools/docs.py            writes them
    python tools/docs.py --check    says what would change, and fails if anything would
"""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "stacks" / "stack.schema.json"
GUIDES = ("docs/guides/environments.md", "docs/guides/gke.md", "docs/guides/serve-on-gke.md", "docs/guides/train-on-gke.md")
DOCUMENTS = ("README.md", "README.zh-CN.md", "docs/reference.md", "docs/rules.md", *GUIDES)

NOW = "1796083200"
"""When all output in the documents was made: 2026-12-01, in seconds since 1970."""


def schema() -> str:
    """JSON schema of a stack file, for editors: the engine's keys at the top, ours under `config`."""
    from infra import stack_kinds
    from infra.refusals import NAMESPACE, PROJECT_KEY
    from infra.stack_file import ENGINE_KEYS, REGION

    definitions: dict[str, object] = {}
    kinds: dict[str, dict[str, object]] = {}
    for kind, one in stack_kinds.specs().items():
        spec = one.model_json_schema(by_alias=True)
        names = {name: PROJECT_KEY if name == "project" else f"{NAMESPACE}{name}" for name in spec["properties"]}
        definitions |= spec["$defs"]
        kinds[kind] = {
            "type": "object",
            "additionalProperties": False,
            "properties": {names[name]: value for name, value in spec["properties"].items()},
            "required": [names[name] for name in spec["required"]],
        }
    config = kinds.pop(REGION)
    for kind, keys in reversed(kinds.items()):
        is_so = {"properties": {stack_kinds.KEY: {"const": kind}}, "required": [stack_kinds.KEY]}
        config = {"if": is_so, "then": keys, "else": config}
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Accelform stack file",
        "description": "What a project has once, what a region holds, or what lives in its cluster. Saved as stacks/Pulumi.<stack>.yaml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {} for key in ENGINE_KEYS} | {"config": config},
        "required": ["config"],
        "$defs": definitions,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def command(*arguments: str, skip: tuple[str, str] | None = None) -> str:
    """
    What `accelform` prints, as a fenced block: documents show real output.

    Args:
        skip: Beginnings of two lines: from the first one on until before the second one, lines are counted instead of shown.

    Raises:
        StopIteration: No line begins so.
    """
    from infra.cli.app import app
    from infra.errors import AccelformError

    out = io.StringIO()
    os.environ["SOURCE_DATE_EPOCH"] = NOW
    with redirect_stdout(out):
        try:
            app(list(arguments), prog_name="accelform", standalone_mode=False)
        except AccelformError as error:
            out.write(f"{error}\n")
    lines = [line.rstrip() for line in out.getvalue().rstrip().splitlines()]
    if skip:
        first = next(index for index, line in enumerate(lines) if line.startswith(skip[0]))
        last = next(index for index, line in enumerate(lines[first:], first) if line.startswith(skip[1]))
        lines[first:last] = [f"... {last - first} more lines", ""]
    text = "\n".join(lines)
    return f"```\n$ accelform {shlex.join(arguments)}\n{text}\n```"


def keys_table() -> str:
    """Every key of the stack file."""
    from infra import stack_kinds

    rows = ["| key | kind | default | what it is |", "|---|---|---|---|"]
    for kind, key in stack_kinds.every_key():
        default = "*not yet*" if key.later else "**required**" if key.required else f"`{key.default}`" if key.default else ""
        rows.append(f"| `{key.path}` | {kind} | {default} | {key.later or key.description} |")
    return "\n".join(rows)


def not_yet_list() -> str:
    """What the full stack file has and this version refuses: whole parts, then keys of parts that are there."""
    from infra import stack_kinds

    later = [key for _, key in stack_kinds.every_key() if key.later]
    whole = [f"`{key.path}` ({key.later})" for key in later if "." not in key.path]
    parts = [f"`{key.path}`" for key in later if "." in key.path]
    return "\n".join([f"- {', '.join(whole)}", f"- {', '.join(parts)}"])


def rules_table() -> str:
    """Every rule, those of the policy pack first."""
    from infra.policy.stack_rules import every

    rows = ["| rule | severity | holds when | else |", "|---|---|---|---|"]
    rows += [f"| `{rule.name}` | {rule.severity} | {rule.description} | {rule.remediation} |" for rule in every()]
    return "\n".join(rows)


def unlabelled_table() -> str:
    """Which types of what this project declares carry no labels, why, and whether a budget by label misses a cost."""
    from infra.cost.free import FREE, NO_PRICE
    from infra.policy.rules.labels import GRANT, NONE

    rows = ["| type | why it has no labels | what it costs |", "|---|---|---|"]
    declared = declared_types()
    for token in sorted(NONE.keys() & declared):
        carried = "carry" in NONE[token] or "carries" in NONE[token]
        billed = "what carries them is billed, with them" if carried else "**billed without a label**: a budget of scope `stack` misses it"
        billed = "billed; with or without a label is not known" if "no source" in NONE[token] else billed
        rows.append(f"| `{token}` | {NONE[token]} | {FREE.get(token) or NO_PRICE.get(token) or billed} |")
    grants = ", ".join(f"`{token}`" for token in sorted(declared) if GRANT.fullmatch(token))
    return "\n".join([*rows, f"| {grants} | a grant is a member of a policy | IAM is free |"])


def declared_types() -> set[str]:
    """Types of the official provider and of the own one that the program's source declares: `gcp.compute.Network(` is one."""
    import re

    found = set()
    for path in (ROOT / "infra").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for module, name in re.findall(r"\bgcp\.([a-z0-9]+)\.([A-Z]\w*)\(", text):
            found.add(f"gcp:{module}/{name[0].lower()}{name[1:]}:{name}")
        for name in re.findall(r"\baccelform\.([A-Z]\w*)\(", text):
            found |= {token for token in OWN if token.endswith(f":{name}")}
    return found


OWN = ("accelform:billing:SpendCap", "accelform:tpu:QueuedResource", "accelform:vertex:DeployedModels", "accelform:vertex:Model")


def environments_table() -> str:
    """What each environment decides."""
    from infra import environments

    head = [f"| | {' | '.join(f'`{name}`' for name in environments.NAMES)} | why |", f"|---|{'---|' * len(environments.NAMES)}---|"]
    rows = [f"| {row.what} | {' | '.join(row.by.values())} | {row.because} |" for row in environments.rows()]
    return "\n".join(head + rows)


def promoted_table() -> str:
    """Which keys `accelform promote` copies."""
    from infra.promotion import PROMOTED

    rows = ["| kind | of | keys |", "|---|---|---|"]
    for kind, groups in PROMOTED.items():
        rows.append(f"| `{kind}` | `images` | all |")
        rows += [f"| `{kind}` | `{group}` | {', '.join(f'`{key}`' for key in keys)} |" for group, keys in groups.items()]
    return "\n".join(rows)


def exit_codes_table() -> str:
    from infra.errors import EXIT_CODES

    return "\n".join(["| code | means |", "|---|---|", *(f"| {int(code)} | {means} |" for code, means in EXIT_CODES.items())])


def components_table() -> str:
    """Every component: its file and its first sentence."""
    import ast

    rows = ["| component | is |", "|---|---|"]
    paths = [*sorted((ROOT / "infra" / "components").glob("*.py")), *sorted((ROOT / "infra" / "in_cluster").glob("*.py"))]
    for path in paths:
        if path.stem not in ("__init__", "placement", "host", "tpu_host", "gpu_host"):
            words = " ".join(str(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))).split("\n\n")[0].split())
            rows.append(f"| [`{path.stem}`](infra/{path.parent.name}/{path.name}) | {words} |")
    return "\n".join(rows)


def workloads_table() -> str:
    """Every program of this project: in which image it is, and what becomes of it."""
    from workloads.job import PROGRAMS

    kinds = {"train": "a job: makes a model", "batch": "a job: reads and writes files", "serve": "a model: answers an endpoint"}
    rows = ["| `workload` | of | image | `data` that it needs |", "|---|---|---|---|"]
    for one in PROGRAMS.values():
        rows.append(f"| `{one.name}` | {kinds[one.kind]} | `{one.image}` | {', '.join(f'`{name}`' for name in one.needs)} |")
    return "\n".join(rows)


def main(check: bool) -> int:
    """Writes or checks everything; answers the exit code."""
    from cogapp import Cog

    sys.path.insert(0, str(ROOT / "tools"))
    stale = []
    if not SCHEMA.exists() or SCHEMA.read_text(encoding="utf-8") != schema():
        stale.append(str(SCHEMA.relative_to(ROOT)))
        if not check:
            SCHEMA.write_text(schema(), encoding="utf-8")
    for name in DOCUMENTS:
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        with redirect_stdout(io.StringIO()):
            code = Cog().main(["cog", "-r", *(["--check"] if check else []), str(path)])
        if code or path.read_text(encoding="utf-8") != before:
            stale.append(name)
    for name in stale:
        sys.stdout.write(f"{'stale' if check else 'wrote'}: {name}\n")
    if check and stale:
        sys.stdout.write("fix: make docs\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
