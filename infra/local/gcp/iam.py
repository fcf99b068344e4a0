"""One member of an IAM policy: the whole policy is read, changed and written back, with its etag."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from infra.local.gcp.lifecycle import Lifecycle, Made
from infra.local.gcp.resource_type import Policy
from infra.provider.calls import GoogleError, UnclearError
from infra.provider.server import ProviderError

ATTEMPTS = 10
FIRST_BACKOFF_SECONDS = 0.1
VERSION = 3
CONFLICTS = (409, 412)
"""What Google answers to a write of a policy that somebody changed meanwhile: Cloud Storage says 412, the others 409."""
CASE_COUNTS = ("allUsers", "allAuthenticatedUsers", "principal:", "principalSet:", "principalHierarchy:")
"""Members that Google takes as they are written; it keeps all others in small letters."""


class Grant(NamedTuple):
    """Who has which role, under which condition."""

    role: str
    member: str
    condition: dict[str, Any] | None

    def of(self, binding: dict[str, Any]) -> bool:
        """Whether a binding is of this role and condition."""
        return binding.get("role") == self.role and _plain(binding.get("condition")) == _plain(self.condition)

    def has(self, binding: dict[str, Any]) -> bool:
        """Whether a binding is of this role and condition, and has the member."""
        return self.of(binding) and any(_same(self.member, member) for member in binding.get("members", []))


class IamMember(Lifecycle):
    """A member of the policy of the resource that the row's URL names."""

    @property
    def policy(self) -> Policy:
        assert self.row.policy, "a row with this lifecycle says how its policy is read"
        return self.row.policy

    def create(self, inputs: dict[str, Any]) -> Made:
        inputs = self._plain(inputs)
        names, grant = self._parent(inputs), _grant(inputs)

        def with_member(bindings: list[dict[str, Any]]) -> None:
            mine = next((binding for binding in bindings if grant.of(binding)), None)
            if mine is None:
                mine = {"members": [], "role": grant.role} | ({"condition": grant.condition} if grant.condition else {})
                bindings.append(mine)
            if not grant.has(mine):
                mine["members"].append(grant.member)

        self._rewrite(names, with_member)
        return self._made(names, grant, self._get(names))

    def read(self, id: str, state: dict[str, Any]) -> Made | None:
        known = state if {"role", "member", self.policy.parent} <= state.keys() else self._of_id(id)
        names = self._parent(known)
        try:
            policy = self._get(names)
        except GoogleError as error:
            if error.code == 404:
                return None
            raise
        bindings = policy.get("bindings", [])
        title = known.get("title")  # of an import: it says no more of the condition
        titled = [one["condition"] for one in bindings if title and one.get("condition", {}).get("title") == title]
        grants = [_grant(known | {"condition": condition}) for condition in titled] if title else [_grant(known)]
        grant = next((grant for grant in grants if any(grant.has(binding) for binding in bindings)), None)
        return self._made(names, grant, policy) if grant else None

    def delete(self, id: str, state: dict[str, Any]) -> None:
        names, grant = self._parent(state), _grant(state)

        def without_member(bindings: list[dict[str, Any]]) -> None:
            for binding in bindings:
                if grant.of(binding):
                    binding["members"] = [member for member in binding.get("members", []) if not _same(member, grant.member)]
            bindings[:] = [binding for binding in bindings if binding.get("members")]

        try:
            self._rewrite(names, without_member)
            self._get(names)
        except GoogleError as error:
            if error.code != 404:
                raise

    def id_of(self, inputs: dict[str, Any]) -> str:
        return self._id(self._parent(inputs), _grant(inputs))

    def _id(self, names: dict[str, Any], grant: Grant) -> str:
        condition = grant.condition or {}
        said = [condition.get(key, "") for key in ("title", "description", "expression")] if condition else []
        return "/".join([self.fill(self.policy.full, names), grant.role, grant.member, *said])

    def _rewrite(self, names: dict[str, Any], change: Callable[[list[dict[str, Any]]], None]) -> None:
        """Reads the policy, changes it and writes it. After somebody else's write in between, all of it again."""
        method, suffix = self.policy.set
        url = self.fill(self.row.url, names)
        with self.client.alone(f"{self.row.service}/{url}"):
            backoff = FIRST_BACKOFF_SECONDS
            for attempt in range(1, ATTEMPTS + 1):
                policy = self._get(names)
                bindings = list(policy.get("bindings", []))
                change(bindings)
                policy = {key: value for key, value in policy.items() if key not in ("bindings", "kind", "resourceId")}
                policy |= {"version": VERSION} | ({"bindings": bindings} if bindings else {})
                body = {"policy": policy} | dict(self.policy.set_extra) if self.policy.wrapped else policy
                try:
                    self.client.call(method, self.row.service, url + suffix, body=body)
                except (GoogleError, UnclearError) as error:  # an unclear one was done, or not: the next reading tells
                    if attempt == ATTEMPTS or (isinstance(error, GoogleError) and error.code not in CONFLICTS):
                        raise
                    self.client.wait(backoff)
                    backoff *= 2
                else:
                    return

    def _get(self, names: dict[str, Any]) -> dict[str, Any]:
        method, suffix = self.policy.get
        path = self.fill(self.row.url, names) + suffix
        return self.client.call(method, self.row.service, path, self.policy.get_query, self.policy.get_body, idempotent=True)

    def _parent(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The names in the URL. The parent may be said by its short name or in full."""
        said = inputs.get(self.policy.parent, "")
        in_full = _names(self.policy.full, said)
        return self.names(inputs) | (in_full or {self.policy.parent: said})

    def _made(self, names: dict[str, Any], grant: Grant, policy: dict[str, Any]) -> Made:
        full, id = self.fill(self.policy.full, names), self._id(names, grant)
        known = {"role": grant.role, "member": grant.member, "condition": grant.condition, "etag": policy.get("etag", "")}
        outputs = {name: known.get(name, names.get(name)) for name in self.schema.outputs}
        return Made(id, {"id": id} | outputs | {self.policy.parent: full})

    def _of_id(self, id: str) -> dict[str, Any]:
        """What an id to import says: resource, role, member and a condition's title with spaces between, or the id that the state has."""
        parts = id.split(" ", 3)
        if len(parts) >= 3:
            return dict(zip((self.policy.parent, "role", "member", "title"), parts, strict=False))
        if match := re.fullmatch(r"(.+?)/((?:(?:projects|organizations)/[^/]+/)?roles/[^/]+)/(\w+:.+|allUsers|allAuthenticatedUsers)", id):
            return {self.policy.parent: match[1], "role": match[2], "member": match[3]}
        raise ProviderError(
            f"{id!r} is not the id of a {self.row.noun}\n  allowed: {self.policy.full} ROLE MEMBER [CONDITION_TITLE], with spaces between"
        )


def _grant(inputs: dict[str, Any]) -> Grant:
    return Grant(inputs["role"], inputs["member"], _plain(inputs.get("condition")))


def _same(one: str, other: str) -> bool:
    """Whether two members are one."""
    return one == other or (not one.startswith(CASE_COUNTS) and one.lower() == other.lower())


def _plain(condition: dict[str, Any] | None) -> dict[str, Any] | None:
    """A condition without what is empty in it."""
    return {key: value for key, value in condition.items() if value} if condition else None


def _names(template: str, said: str) -> dict[str, str]:
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template))
    match = re.fullmatch(pattern, said)
    return match.groupdict() if match else {}
