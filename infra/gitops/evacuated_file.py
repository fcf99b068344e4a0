"""
A stack file of one region, written anew for another: what follows from the region is changed, what nobody can know stays as an error.

Nothing of it is guessed: a zone is taken where the catalogue has in it what the file asks for; else the old one stays, which the check of
the new file refuses, with what is there instead.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from infra import names
from infra.apps import AppsSpec
from infra.catalog import gpu_zones, zones
from infra.catalog.fits import judge
from infra.catalog.places import region_of
from infra.catalog.wish import Near, Wish
from infra.components.network import NetworkSpec
from infra.confirmed import ConfirmedSpec
from infra.operate.file_keys import changed
from infra.refusals import NAMESPACE
from infra.stack import StackSpec
from infra.stack_file import ENGINE_KEYS

UNDECIDED = "DECIDE"
"""What stands where only a person knows: no key takes it."""
WISHED = {
    "accelerator_type": "accelerator_type",
    "machine_type": "machine_type",
    "accelerator_count": "count",
    "count": "count",
    "topology": "topology",
}
"""Keys of a stack file that change what is looked for, and the field of a wish that each is."""
EVERYWHERE = ("any", "none")
"""What an endpoint may say of reservations without naming one."""
PRIVATE = ipaddress.IPv4Network("10.0.0.0/8")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """From which stack to which."""

    project: str
    old: str
    new: str
    old_region: str
    region: str

    def texts(self) -> dict[str, str]:
        """What stands in a file as text, and what it is there: own images and own buckets."""
        images = [
            f"{region}-docker.pkg.dev/{self.project}/{names.resource(stack, 'images')}/"
            for region, stack in ((self.old_region, self.old), (self.region, self.new))
        ]
        buckets = {
            names.bucket(self.project, self.old, purpose): names.bucket(self.project, self.new, purpose) for purpose in ("data", "models")
        }
        return {images[0]: images[1], **{f"gs://{old}": f"gs://{new}" for old, new in buckets.items()}}


@dataclass(frozen=True, slots=True)
class Change:
    """One key that is another in the new file."""

    path: str
    before: str
    after: str
    why: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """One key that only a person can settle: the check of the new file refuses it until then."""

    path: str
    why: str
    nearest: str = ""
    """What would do elsewhere."""


@dataclass(slots=True)
class Written:
    """The new file."""

    text: str
    changes: list[Change] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)


def region_file(text: str, spec: StackSpec, move: Move, taken: Sequence[str], said: Mapping[Path, Any]) -> Written:
    """
    The file of a region.

    Args:
        taken: Ranges that other stacks of the project have, and the old one.
        said: What a person decided, by the path of the key.
    """
    found = Written(text)
    edits: dict[Path, Any] = {("region",): move.region}
    edits |= _network(spec, taken, found)
    for path, wishes, single in _places(spec):
        _placed(found, edits, path, wishes, move.region, said, single=single)
    for path, reservation in _reservations(spec):
        if path not in said and path[:2] not in said:
            _undecided(found, edits, path, f"{reservation} is a reservation of {move.old_region}, or of all zones by its name alone")
    return _written(found, move, edits, said, spec.confirmed)


def apps_file(text: str, spec: AppsSpec, move: Move, said: Mapping[Path, Any]) -> Written:
    """The file of what lives in a cluster of the region."""
    found = Written(text)
    edits: dict[Path, Any] = {("region",): move.region, ("region_stack",): move.new}
    for name, one in spec.compute_classes.items():
        path = ("compute_classes", name)
        if one.zones:
            ways = [one.wish(way, "") for way in one.provisioning]
            _placed(found, edits, (*path, "zones"), ways, move.region, said, single=False)
        if one.reservation and (*path, "reservation") not in said:
            _undecided(found, edits, (*path, "reservation"), f"{one.reservation} is a reservation of {move.old_region}")
    for name, volume in spec.volumes.items():
        disk = ("volumes", name, "disk")
        if volume.disk and disk not in said:
            _undecided(found, edits, disk, f"{volume.disk} stands in {move.old_region}: a snapshot of it makes one in {move.region}")
    return _written(found, move, edits, said, spec.confirmed)


def _places(spec: StackSpec) -> Iterator[tuple[Path, list[Wish], bool]]:
    """Each key that holds a zone or zones, what is wished there, and whether it is one zone."""
    # What others own goes nowhere: the check of the new file refuses it by its region.
    for name, slice_ in spec.own_slices.items():
        yield ("tpu_slices", name, "zone"), [slice_.wish], True
    for name, machine in spec.own_vms.items():
        yield ("gpu_vms", name, "zone"), [machine.wish], True
    for name, job in spec.jobs.items():
        if not job.on_vertex:
            yield ("jobs", name, "zones"), list(job.wishes), False
    for name, pool in spec.node_pools.items():
        yield ("node_pools", name, "zones"), [pool.wish(zone) for zone in pool.zones or [""]], False


def _reservations(spec: StackSpec) -> Iterator[tuple[Path, str]]:
    """Each reservation that is consumed: one is of one zone."""
    for section in ("tpu_slices", "gpu_vms", "jobs", "node_pools"):
        for name, one in getattr(spec, section).items():
            if one.reservation:
                yield (section, name, "reservation"), one.reservation
    for name, endpoint in spec.endpoints.items():
        if endpoint.reservation and endpoint.reservation not in EVERYWHERE:
            yield ("endpoints", name, "reservation"), endpoint.reservation
        for key, deployed in endpoint.deployed_models.items():
            if deployed.reservation and deployed.reservation not in EVERYWHERE:
                yield ("endpoints", name, "deployed_models", key, "reservation"), deployed.reservation


def _placed(
    found: Written, edits: dict[Path, Any], path: Path, wishes: Sequence[Wish], region: str, said: Mapping[Path, Any], *, single: bool
) -> None:
    """Zones of the region that have all that is wished; where none has, the old ones stay, and it is said what is near."""
    if path in said or any(path[:depth] in said for depth in range(1, len(path))):
        return
    wanted = list(dict.fromkeys(_as_said(replace(one, zone="", region=region), path[:-1], said) for one in wishes))
    near = {one: judge(one).nearest for one in wanted}
    there = [{_zone(x) for x in near[one] if _zone(x).startswith(f"{region}-") and _same(x, one)} for one in wanted]
    every = sorted(set.intersection(*there)) if there else []
    before = ", ".join(dict.fromkeys(one.zone for one in wishes if one.zone)) or "the old region's"
    if every and path[0] == "node_pools" and not any(one.zone for one in wishes):
        return  # it says no zones, and takes what the region has
    if every:
        count = max(1, len({one.zone for one in wishes}))
        edits[path] = every[0] if single else every[:count] if path[0] == "node_pools" else every
        after = every[0] if single else ", ".join(edits[path])
        found.changes.append(Change(_dotted(path), before, after, f"{_what(wanted[0])}: the catalogue has it there"))
        return
    elsewhere = [x for one in wanted for x in near[one] if _same(x, one) and region_of(_zone(x)) != region_of(wishes[0].zone or "-")]
    words = f"no zone of {region} is known to have {_what(wanted[0])}; it has {', '.join(_has(region)) or 'no accelerator that is known'}"
    first = f"{elsewhere[0].wish.words()}, {_usd(elsewhere[0])}" if elsewhere else ""
    found.undecided.append(Undecided(_dotted(path), words, first))


def _as_said(wish: Wish, path: Path, said: Mapping[Path, Any]) -> Wish:
    """The wish with what a person decided of its machine."""
    fields: dict[str, Any] = {name: said[(*path, key)] for key, name in WISHED.items() if (*path, key) in said}
    ways = said.get((*path, "provisioning"))
    if isinstance(ways, str) or (isinstance(ways, list) and ways):
        fields["provisioning"] = ways if isinstance(ways, str) else ways[0]
    return replace(wish, **fields)


def _same(near: Near, wish: Wish) -> bool:
    """Whether it is what was wished, somewhere: neither another machine nor another way of buying."""
    return replace(near.wish, zone="", region=wish.region) == wish


def _zone(near: Near) -> str:
    return near.wish.zone


def _what(wish: Wish) -> str:
    return f"{wish.accelerator_type or wish.machine_type} as {wish.provisioning}"


def _usd(near: Near) -> str:
    return "its price unknown" if near.usd is None else f"{near.usd:.4f} USD an hour"


def _has(region: str) -> list[str]:
    """Accelerators that good sources have in a region, by name."""
    tpus = {one.sold_as for one in zones.every() if one.trust != "low" and one.region == region}
    gpus = {one.accelerator_type for one in gpu_zones.every() if one.trust != "low" and one.region == region}
    return sorted({re.sub(r"-[0-9]+$", "", one) for one in tpus}) + sorted(gpus)


def _network(spec: StackSpec, taken: Sequence[str], found: Written) -> dict[Path, Any]:
    """A range of the region's machines, and one of its load balancers, beside all that are taken: so that the two can be joined."""
    network = spec.network
    if network.existing or not (spec.needs_network or "network" in spec.model_fields_set):
        return {}
    edits: dict[Path, Any] = {}
    used = [ipaddress.IPv4Network(one) for one in taken]
    for key, before in (("cidr", network.cidr), ("proxy_cidr", network.proxy_cidr)):
        if before is None:
            continue
        free = next(one for one in PRIVATE.subnets(new_prefix=ipaddress.IPv4Network(before).prefixlen) if not any(map(one.overlaps, used)))
        used.append(free)
        edits[("network", key)] = str(free)
        found.changes.append(Change(f"network.{key}", before, str(free), "shares no address with another stack of the project"))
    return edits


def ranges(config: Mapping[str, Any]) -> Iterator[str]:
    """Ranges of a region's file, however wrong the rest of it is."""
    network = config.get(f"{NAMESPACE}network")
    said = network if isinstance(network, dict) else {}
    if "existing" in said:
        return
    for key, default in (("cidr", str(NetworkSpec.model_fields["cidr"].default)), ("proxy_cidr", "")):
        value = said.get(key, default)
        try:
            yield str(ipaddress.IPv4Network(str(value)))
        except ValueError:
            continue


def _undecided(found: Written, edits: dict[Path, Any], path: Path, why: str) -> None:
    edits[path] = UNDECIDED
    found.undecided.append(Undecided(_dotted(path), why))


def _written(
    found: Written, move: Move, edits: Mapping[Path, Any], said: Mapping[Path, Any], confirmed: Sequence[ConfirmedSpec]
) -> Written:
    text = found.text
    for old, new in move.texts().items():
        pattern = re.compile(rf"{re.escape(old)}(?![a-z0-9._-])" if old.startswith("gs:") else re.escape(old))
        if pattern.search(text):
            found.changes.append(Change("", old, new, "what is in it is copied"))
            text = pattern.sub(new, text)
    found.changes += [
        Change(_dotted(path), "", "left out" if value is None else str(value), "said by --set") for path, value in said.items()
    ]
    found.changes.insert(0, Change("region", move.old_region, move.region, "asked for"))
    for one in confirmed:
        found.changes.append(Change("confirmed", f"{one.what} in {one.zone or one.region}", "", f"was confirmed of {move.old_region}"))

    def change(loaded: Any) -> None:
        for key in ENGINE_KEYS:
            if key != "config":
                loaded.pop(key, None)
        config = loaded["config"]
        if confirmed:
            del config[f"{NAMESPACE}confirmed"]
        for path, value in {**edits, **said}.items():
            if path in said and value is None:
                _drop(config, path)
            elif not any(said.get(path[:depth], "") is None for depth in range(1, len(path))):
                _set(config, path, value)

    found.text = changed(text, change)
    return found


def _drop(config: Any, path: Path) -> None:
    """Takes a key out, where it is."""
    *above, last = (f"{NAMESPACE}{path[0]}", *path[1:])
    for word in above:
        config = config.get(word) if isinstance(config, dict) else None
    if isinstance(config, dict):
        config.pop(last, None)


def _set(config: Any, path: Path, value: Any) -> None:
    """Sets a key; a list that was written in one line stays in one."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    holder = config
    for depth, key in enumerate(path[:-1]):
        word = f"{NAMESPACE}{key}" if depth == 0 else key
        if not isinstance(holder.get(word), dict):
            holder[word] = CommentedMap()
            holder[word].fa.set_flow_style()
        holder = holder[word]
    last = path[-1] if len(path) > 1 else f"{NAMESPACE}{path[-1]}"
    if isinstance(value, list):
        before = holder.get(last)
        listed = CommentedSeq(value)
        if isinstance(before, CommentedSeq) and not before.fa.flow_style():
            listed.fa.set_block_style()
        else:
            listed.fa.set_flow_style()
        value = listed
    holder[last] = value


def _dotted(path: Path) -> str:
    return ".".join(path)
