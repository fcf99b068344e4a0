"""Rules that every Dockerfile of ours keeps, as a plain function."""

from __future__ import annotations

import json
import re

KNOWN = ("FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT", "CMD")
_BASE = re.compile(r"[a-z0-9.-]+(/[a-z0-9._-]+)+:[A-Za-z0-9._-]+@sha256:[0-9a-f]{64}")


def instructions(text: str) -> list[tuple[str, str]]:
    """Instructions and what they say, comments and line ends taken out."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [
        (word.upper(), rest.strip())
        for word, _, rest in (line.partition(" ") for line in lines.replace("\\\n", "").splitlines() if line.strip())
    ]


def executed(said: str) -> list[str] | None:
    """Words of an instruction in exec form."""
    try:
        words = json.loads(said)
    except ValueError:
        return None
    return words if isinstance(words, list) and words and all(isinstance(word, str) for word in words) else None


def problems(text: str) -> list[str]:
    """What breaks a rule, a sentence each."""
    found = []
    said = instructions(text)
    if [word for word, _ in said][:1] != ["FROM"]:
        found.append("FROM: not the first")
    for word, rest in said:
        if word not in KNOWN:
            found.append(f"{word}: is none of {', '.join(KNOWN)}")
        if word == "COPY" and not re.fullmatch(r"[a-z0-9_][a-z0-9_./-]* [a-z0-9_][a-z0-9_./-]*", rest):
            found.append(f"COPY {rest}: not one source and one target, by their own names")
        if word == "ENV" and not re.fullmatch(r"(?:[A-Z_]+=[^\s\"']+\s*)+", rest):
            found.append(f"ENV {rest[:40]}: not NAME=VALUE")
        if word == "FROM" and not _BASE.fullmatch(rest.split(" ")[0]):
            found.append(f"FROM {rest}: not by registry, tag and digest")
        if word == "FROM" and ":latest" in rest:
            found.append("FROM: latest")
        if word in ("RUN", "CMD", "ENTRYPOINT") and executed(rest) is None:
            found.append(f"{word} {rest[:40]}: not in exec form")
        if word == "RUN" and "apt" in rest and not ("--no-install-recommends" in rest and "/var/lib/apt/lists" in rest):
            found.append("RUN apt: leaves its lists, or installs what is only recommended")
        if word == "RUN" and "pip" in rest and not ("--require-hashes" in rest and "--only-binary" in rest):
            found.append("RUN pip: not by hash, or not wheels only")
        if word == "ADD":
            found.append("ADD: fetches and unpacks; COPY does neither")
        if word in ("ARG", "ENV") and re.search(r"(?i)password|secret|token|api_?key", rest):
            found.append(f"{word} {rest[:40]}: a secret in a layer")
    users = [rest for word, rest in said if word == "USER"]
    words = [word for word, _ in said]
    if users and {"RUN", "COPY", "WORKDIR"} & set(words[words.index("USER") :]):
        found.append("USER: before all is written, which that user may not")
    if not users or not re.fullmatch(r"[1-9][0-9]*:[1-9][0-9]*", users[-1]):
        found.append("USER: not a number other than 0, which Kubernetes can check")
    if words.count("ENTRYPOINT") != 1:
        found.append("ENTRYPOINT: not said once")
    return found
