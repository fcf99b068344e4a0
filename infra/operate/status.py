"""
What of a stack stands, and how it does: asked of Google side by side, each within a deadline. What cannot be read says why, and spoils no
other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from infra import names, translated
from infra.apps import AppsSpec
from infra.errors import SpecError
from infra.findings import Level
from infra.foundation import FoundationSpec
from infra.operate import quota_requests, requests, things
from infra.operate.jobs.desk import Desk
from infra.operate.journal import Journal
from infra.operate.things import RUNNERS, Thing
from infra.provider.google import Google
from infra.provider.holds import Holds, seconds
from infra.provider.queue import API as TPU
from infra.provider.queue import QUEUES
from infra.provider.server import ProviderError
from infra.stack import StackSpec
from infra.stack_file import FileSpec

WORKERS = 8
DEADLINE_SECONDS = 20.0
"""How long one look may take."""
ORDER: tuple[Level, ...] = ("failed", "warning", "unknown", "ok")
"""What needs a person comes first."""
MISSING = "is not there"
GONE_STATES = ("PREEMPTED", "TERMINATED", "STOPPED", "SUSPENDED", "STOPPING", "SUSPENDING")
WELL = ("succeeded", "skipped")
COMPUTE, CONTAINER, VERTEX, RUN = "compute.v1", "container.v1", "aiplatform.v1", "run.v2"


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that was looked at."""

    path: str
    """`endpoints.recommend`; of what no file names, its kind."""
    level: Level
    state: str
    """In a word or two: `RUNNING`, `is not there`, `unknown`."""
    detail: str = ""
    fix: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same for machines; amounts as text."""

    def shown(self) -> dict[str, Any]:
        return {"thing": self.path, "level": self.level, "state": self.state, "detail": self.detail, "fix": self.fix, **self.facts}


Look = Callable[[], Iterator[Seen]]


def look(google: Google, spec: FileSpec, stack: str, now: float, *, seconds: float = DEADLINE_SECONDS) -> list[Seen]:
    """
    Everything of a stack: what needs a person first.

    Args:
        now: Seconds since 1970, there.
        seconds: How long one look may take.
    """
    looks = _looks(google, spec, stack, now)
    found: list[Seen] = []
    pool = ThreadPoolExecutor(WORKERS)
    try:
        until = time.monotonic() + seconds
        running: dict[str, Future[list[Seen]]] = {name: pool.submit(_safe, name, one) for name, one in looks.items()}
        for name, future in running.items():
            try:
                found += future.result(max(0.0, until - time.monotonic()))
            except FutureTimeoutError:
                found.append(Seen(name, "unknown", "unknown", f"did not answer within {seconds:g} s", "try again"))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return sorted(found, key=lambda one: ORDER.index(one.level))


def stands(found: list[Seen]) -> bool:
    """Whether anything that the file declares is there, or may be."""
    declared = [one for one in found if "." in one.path]
    return not declared or any(one.state != MISSING for one in declared)


def _safe(name: str, one: Look) -> list[Seen]:
    found: list[Seen] = []
    try:
        found.extend(one())
    except (ProviderError, SpecError) as error:
        told = translated.translated(str(error))
        words = told.what if told else str(error).partition("\n")[0]
        fix = told.fix if told else str(error).partition("fix: ")[2]
        found.append(Seen(name, "unknown", "unknown", f"cannot be read: {words}", fix))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        said = f"an answer of Google's was not understood: {type(error).__name__}: {error}"
        found.append(Seen(name, "unknown", "unknown", said, "please report it, with what the API answered"))
    return found


def _looks(google: Google, spec: FileSpec, stack: str, now: float) -> dict[str, Look]:
    """What is asked, by what it is of."""
    forms: Mapping[str, Callable[[Google, Thing], Iterator[Seen]]] = {
        "node": _node,
        "instance": _instance,
        "group": _group,
        "request": partial(_request, now=now),
        "cluster": _cluster,
        "pool": _pool,
        "bucket": _bucket,
    }
    every = things.of(spec, stack)
    looks: dict[str, Look] = {one.path: partial(forms[one.form], google, one) for one in every if one.form in forms}
    looks |= {one.path: partial(_runner, google, one) for one in every if one.kind == RUNNERS}
    if isinstance(spec, StackSpec):
        trained = {f"models.{name}": job for name, job in spec.registered.items()}
        looks |= {one.path: partial(_model, google, one, trained.get(one.path, "")) for one in every if one.form == "model"}
        empty = [
            name
            for name, one in spec.endpoints.items()
            if not {served.model.partition("@")[0] for served in one.served.values()} - {*spec.registered}
        ]
        looks |= {one.path: partial(_endpoint, google, one, may_be_empty=one.name in empty) for one in every if one.form == "endpoint"}
    if budgets := [one for one in every if one.form == "budget"]:
        looks["budgets"] = partial(_budgets, google, spec.project, budgets)
    if isinstance(spec, StackSpec):
        if spec.jobs:
            looks["jobs"] = partial(_jobs, Desk(google, spec.project, spec.region, stack), list(spec.jobs))
        if any(one.chosen_way == "tpu-api" for one in spec.own_slices.values()):
            looks["queue"] = partial(_queue, google, spec.project, now)
        if spec.endpoints:
            looks["holds"] = partial(_holds, google, names.holds(spec.project, stack), now)
            looks["rollouts"] = partial(_rollouts, google, spec.project, stack, list(spec.endpoints))
    if isinstance(spec, FoundationSpec):
        looks["apis"] = partial(_apis, google, spec.project, spec.services())
        if quotas := [one for one in every if one.form == "quota"]:
            looks["quota_requests"] = partial(_quotas, google, spec.project, quotas)
    if isinstance(spec, AppsSpec):
        cluster = things.cluster_name(spec.of_region, spec.region_stack, spec.cluster_key)
        looks["services"] = partial(_in_cluster, google, cluster, [one for one in every if one.form == "service"])
    return looks


def _missing(thing: Thing) -> Seen:
    return Seen(
        thing.path, "failed", MISSING, thing.resource, "accelform up, or pulumi up; where it was preempted or deleted, pulumi refresh first"
    )


def _since(text: str) -> str:
    return f"since {text[:16].replace('T', ' ')} UTC" if text[:1].isdigit() else ""


def _moment(text: str) -> str:
    """Google's time with a place's offset, in UTC."""
    import datetime as dt

    return dt.datetime.fromtimestamp(seconds(text), dt.UTC).isoformat() if text else ""


def _words(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _node(google: Google, thing: Thing) -> Iterator[Seen]:
    body = google.found(TPU, "projects.locations.nodes.get", name=thing.resource)
    if body is None:
        yield _missing(thing)
        return
    yield _of_machine(
        thing,
        state=str(body.get("state", "STATE_UNSPECIFIED")),
        well="READY",
        spot=bool(body.get("schedulingConfig", {}).get("spot")),
        since=str(body.get("createTime", "")),
        more=_words(str(body.get("acceleratorType", "")), str(body.get("healthDescription", ""))),
        sick=str(body.get("health", "")) not in ("", "HEALTHY", "HEALTH_UNSPECIFIED"),
    )


def _instance(google: Google, thing: Thing) -> Iterator[Seen]:
    at = {"project": thing.part("projects"), "zone": thing.part("zones")}
    body = google.found(COMPUTE, "instances.get", **at, instance=thing.id)
    if body is None:
        yield _missing(thing)
        return
    yield _of_machine(
        thing,
        state=str(body.get("status", "unknown")),
        well="RUNNING",
        spot=body.get("scheduling", {}).get("provisioningModel") == "SPOT",
        since=str(body.get("lastStartTimestamp") or body.get("creationTimestamp", "")),
        more=_words(str(body.get("machineType", "")).rpartition("/")[2], str(body.get("statusMessage", ""))),
    )


def _of_machine(thing: Thing, *, state: str, well: str, spot: bool, since: str, more: str, sick: bool = False) -> Seen:
    """A machine or node in words: what Spot lost is told as that."""
    lost = state == "PREEMPTED" or (spot and state in GONE_STATES)
    zone = thing.part("zones") or thing.part("locations")
    moment = _moment(since)
    said = _words(zone, _since(moment), "spot" if spot else "", "preempted: Google took it back" if lost else "", more)
    if state == well and not sick:
        level: Level = "ok"
    else:
        level = "failed" if lost or sick or state in GONE_STATES else "warning"
    fix = (
        f"accelform logs {thing.path}"
        if level == "failed" and not lost
        else "accelform up, or pulumi up --refresh: it is asked for anew"
        if lost
        else ""
    )
    facts = {"zone": zone, "since": moment, "spot": spot, "preempted": lost}
    return Seen(thing.path, level, state, said, fix, facts)


def _group(google: Google, thing: Thing) -> Iterator[Seen]:
    at = {"project": thing.part("projects"), "zone": thing.part("zones"), "instanceGroupManager": thing.id}
    body = google.found(COMPUTE, "instanceGroupManagers.get", **at)
    if body is None:
        yield _missing(thing)
        return
    hosts = google.pages(COMPUTE, "instanceGroupManagers.listManagedInstances", "managedInstances", **at)
    running = [one for one in hosts if one.get("instanceStatus") == "RUNNING"]
    errors = {
        str(error.get("message", error.get("code", "")))
        for one in hosts
        for error in one.get("lastAttempt", {}).get("errors", {}).get("errors", [])
    }
    wanted = int(body.get("targetSize", 0))
    moment = _moment(str(body.get("creationTimestamp", "")))
    said = _words(at["zone"], _since(moment), f"{len(running)} of {wanted} hosts run", *sorted(errors))
    facts = {"zone": at["zone"], "since": moment, "hosts": len(running), "wanted": wanted}
    well = len(running) == wanted and wanted > 0
    known = translated.translated(" ".join(errors)) if errors else None
    fix = "" if well else known.fix if known else f"accelform logs {thing.path}"
    yield Seen(
        thing.path, "ok" if well else "failed" if errors or not wanted else "warning", "RUNNING" if well else "INCOMPLETE", said, fix, facts
    )


def _request(google: Google, thing: Thing, *, now: float) -> Iterator[Seen]:
    body = google.found(TPU, f"{QUEUES}.get", name=thing.resource)
    if body is None:
        yield _missing(thing)
        return
    one = requests.read(body, now)
    level: Level = "failed" if one.dead else "ok" if one.state == "ACTIVE" else "warning"
    fix = "accelform queue STACK --remove-dead, then accelform up or pulumi up" if one.dead else ""
    yield Seen(thing.path, level, one.state, _words(one.zone, f"for {one.age}", one.dead), fix, one.shown())


def _queue(google: Google, project: str, now: float) -> Iterator[Seen]:
    """Requests that hold quota though nothing comes of them, whoever made them."""
    for one in requests.listed(google, project, now):
        if one.dead:
            yield Seen(
                "queue",
                "warning",
                one.state,
                _words(one.id, one.zone, f"for {one.age}", one.dead),
                "accelform queue STACK --remove-dead",
                one.shown(),
            )


def _cluster(google: Google, thing: Thing) -> Iterator[Seen]:
    body = google.found(CONTAINER, "projects.locations.clusters.get", name=thing.resource)
    if body is None:
        yield _missing(thing)
        return
    state = str(body.get("status", "unknown"))
    said = _words(
        thing.part("locations"),
        str(body.get("currentMasterVersion", "")),
        f"{int(body.get('currentNodeCount', 0))} nodes",
        *_conditions(body),
    )
    level: Level = "ok" if state == "RUNNING" else "warning" if state in ("PROVISIONING", "RECONCILING") else "failed"
    yield Seen(
        thing.path,
        level,
        state,
        said,
        "" if level != "failed" else f"accelform open {thing.path}",
        {"nodes": int(body.get("currentNodeCount", 0))},
    )


def _conditions(body: Mapping[str, Any]) -> list[str]:
    said = [str(one.get("message", "")) for one in body.get("conditions", [])]
    return [one for one in (*said, str(body.get("statusMessage", ""))) if one]


def _pool(google: Google, thing: Thing) -> Iterator[Seen]:
    body = google.found(CONTAINER, "projects.locations.clusters.nodePools.get", name=thing.resource)
    if body is None:
        yield _missing(thing)
        return
    nodes = 0
    for url in body.get("instanceGroupUrls", []):
        words = str(url).split("/projects/")[-1].split("/")
        group = google.found(COMPUTE, "instanceGroupManagers.get", project=words[0], zone=words[2], instanceGroupManager=words[4])
        nodes += int((group or {}).get("targetSize", 0))
    state, scale = str(body.get("status", "unknown")), body.get("autoscaling", {})
    low, high = (int(scale.get(f"{end}NodeCount", scale.get(f"total{end.title()}NodeCount", 0))) for end in ("min", "max"))
    kept = f" (scales {low} to {high})" if scale.get("enabled") else ""
    spot = bool(body.get("config", {}).get("spot"))
    errors = _conditions(body)
    said = _words(f"{nodes} nodes{kept}", "spot" if spot else "", *errors)
    well = state == "RUNNING" and not errors
    known = translated.translated(" ".join(errors)) if errors else None
    level: Level = "ok" if well else "warning" if state in ("PROVISIONING", "RECONCILING", "RUNNING") and not known else "failed"
    fix = known.fix if known else "" if well else f"accelform open {thing.path}"
    yield Seen(thing.path, level, state, said, fix, {"nodes": nodes, "spot": spot, "errors": errors})


def _endpoint(google: Google, thing: Thing, *, may_be_empty: bool) -> Iterator[Seen]:
    """*may_be_empty*: whether the file has nothing deployed there, or what no job has made yet."""
    where = thing.part("locations")
    body = google.found(VERTEX, "projects.locations.endpoints.get", place=where, name=thing.resource)
    if body is None:
        yield _missing(thing)
        return
    split = body.get("trafficSplit", {})
    models = []
    for one in body.get("deployedModels", []):
        dedicated, status = one.get("dedicatedResources", {}), one.get("status", {})
        low, high = int(dedicated.get("minReplicaCount", 0)), int(dedicated.get("maxReplicaCount", dedicated.get("minReplicaCount", 0)))
        models.append(
            {
                "model": f"{str(one.get('model', '')).rpartition('/')[2]}@{one.get('modelVersionId', '')}".rstrip("@"),
                "traffic_percent": int(split.get(str(one.get("id", "")), 0)),
                "replicas": status.get("availableReplicaCount"),
                "min_replicas": low,
                "max_replicas": high,
                "message": str(status.get("message", "")),
            }
        )
    said = [
        f"{one['model']} {one['traffic_percent']} %, "
        + (f"{one['replicas']} replicas" if one["replicas"] is not None else f"{one['min_replicas']} to {one['max_replicas']} replicas")
        + (f" ({one['message']})" if one["message"] else "")
        for one in models
    ]
    idle = [one["model"] for one in models if not one["traffic_percent"]]
    short = [one for one in models if one["replicas"] is not None and int(one["replicas"]) < int(one["min_replicas"])]
    level: Level = "failed" if short else "warning" if idle or not (models or may_be_empty) else "ok"
    fix = (
        f"accelform logs {thing.path}" if short else f"no request reaches {', '.join(idle)}, which is paid for: undeploy it" if idle else ""
    )
    state = "serves" if models and not short else "too few replicas" if short else "nothing is deployed"
    yield Seen(thing.path, level, state, "; ".join(said), fix, {"deployed": models})


def _model(google: Google, thing: Thing, job: str) -> Iterator[Seen]:
    """*job*: the one that makes its versions; empty where the file uploads it."""
    body = google.found(VERTEX, "projects.locations.models.get", place=thing.part("locations"), name=thing.resource)
    if body is None:
        yield Seen(thing.path, "ok", "no version yet", f"the job {job} makes them", f"accelform jobs run {job}") if job else _missing(thing)
        return
    aliases = [str(one) for one in body.get("versionAliases", [])]
    version = str(body.get("versionId", ""))
    yield Seen(thing.path, "ok", f"version {version}", _words(", ".join(aliases)), facts={"version": version, "aliases": aliases})


def _jobs(desk: Desk, declared: list[str]) -> Iterator[Seen]:
    """As `accelform jobs list` tells them."""
    there = {one.plan.job: one for one in desk.every()}
    for name in declared:
        path = f"jobs.{name}"
        if name not in there:
            yield Seen(path, "failed", MISSING, "its runner does not stand", "accelform up, or pulumi up")
            continue
        last, following = desk.open_or_last(there[name]), desk.next_start(there[name])
        result = str(last.get("result") or last.get("phase", ""))
        if last.get("open"):
            level, state = "ok", f"run {last['run']} is open ({last['phase']})"
        elif not last:
            level, state = "ok", "had no run yet"
        else:
            level, state = ("ok" if result in WELL else "failed"), f"run {last['run']} {result}"
        upcoming = "" if not following else "paused" if following == "paused" else f"next {following[:16].replace('T', ' ')} UTC"
        said = _words(str(last.get("reason", "")) if level == "failed" else "", f"{last['usd']} USD" if last.get("usd") else "", upcoming)
        facts = {"run": last.get("run", ""), "result": result, "next": following}
        yield Seen(path, level, state, said, f"accelform jobs logs {name}" if level == "failed" else "", facts)  # type: ignore[arg-type]


def _runner(google: Google, thing: Thing) -> Iterator[Seen]:
    """What Cloud Run runs besides the jobs: how its last execution ended."""
    body = google.found(RUN, "projects.locations.jobs.get", name=thing.resource)
    if body is None:
        yield _missing(thing)
        return
    last = body.get("latestCreatedExecution", {})
    status, began = str(last.get("completionStatus", "")), str(last.get("createTime", ""))
    bad = status in ("EXECUTION_FAILED", "EXECUTION_CANCELLED")
    state = status.removeprefix("EXECUTION_").lower() or ("runs" if last else "did not run yet")
    yield Seen(thing.path, "failed" if bad else "ok", state, _since(began), f"accelform logs {thing.path}" if bad else "", {"last": last})


def _holds(google: Google, address: str, now: float) -> Iterator[Seen]:
    """As `accelform holds` tells them: something decides in the place of the file."""
    for one in Holds(google, address).every():
        if one.counts(now):
            yield Seen(
                "holds", "warning", "held", one.line(), "it ends by itself; sooner: accelform holds STACK --release ENDPOINT", one.shown()
            )


def _rollouts(google: Google, project: str, stack: str, endpoints: list[str]) -> Iterator[Seen]:
    for name in endpoints:
        journal = Journal(google, names.journal(project, stack, name))
        if journal.is_open:
            said = f"a rollout is open ({journal.phase})"
            fix = f"accelform rollout {stack} {name} --resume goes on, accelform rollback {stack} {name} returns"
            yield Seen("rollouts", "warning", journal.phase, f"{name}: {said}", fix, {"endpoint": name})


def _budgets(google: Google, project: str, declared: list[Thing]) -> Iterator[Seen]:
    """
    Budgets as the billing account has them. What was spent the Budgets API does not tell: it is in the bill alone.

    Source: discovery document billingbudgets v1, `GoogleCloudBillingBudgetsV1Budget`.
    """
    account = str(google.call("cloudbilling.v1", "projects.getBillingInfo", name=f"projects/{project}").get("billingAccountName", ""))
    if not account:
        for one in declared:
            yield Seen(one.path, "failed", "no billing account", f"nobody pays for {project}", "gcloud billing projects link")
        return
    every = google.pages("billingbudgets.v1", "billingAccounts.budgets.list", "budgets", parent=account)
    there = {str(one.get(key, "")).rpartition("/")[2]: one for one in every for key in ("displayName", "name")}
    for one in declared:
        body = there.get(one.id)
        if body is None:
            yield Seen(one.path, "failed", MISSING, f"{account} has no budget {one.id!r}", "accelform up, or pulumi up")
            continue
        money = body.get("amount", {}).get("specifiedAmount", {})
        amount = (
            f"{money.get('units', '0')}{_cents(int(money.get('nanos', 0)))} {money.get('currencyCode', '')}".strip()
            if money
            else "as last period"
        )
        facts = {"amount": amount, "spent": None}
        yield Seen(one.path, "ok", amount, "spent: unknown here; accelform cost --actual reads the bill", facts=facts)


def _cents(nanos: int) -> str:
    """`500000000` -> `.5`."""
    return f".{nanos:09d}".rstrip("0") if nanos else ""


def _quotas(google: Google, project: str, declared: list[Thing]) -> Iterator[Seen]:
    """What became of the quota that was asked for."""
    parent = f"projects/{project}/locations/global"
    every = google.pages("cloudquotas.v1", "projects.locations.quotaPreferences.list", "quotaPreferences", parent=parent)
    there = {one.id: one for one in map(quota_requests.answer, every)}
    for one in declared:
        found = there.get(one.id)
        if found is None:
            yield Seen(one.path, "failed", "was not sent yet", fix="accelform up, or pulumi up")
            continue
        said = _words(
            f"{found.quota}: wanted {found.wanted}, granted {'nothing yet' if found.granted is None else found.granted}", found.detail
        )
        granted = found.granted is not None and found.granted >= found.wanted
        level: Level = "warning" if found.pending else "ok" if granted else "failed"
        state = "pending" if found.pending else "granted" if granted else "granted in part" if found.granted else "refused"
        fix = "wait for Google's mail to the contact" if found.pending else "" if granted else f"accelform open {one.path}"
        yield Seen(one.path, level, state, said, fix, {"wanted": found.wanted, "granted": found.granted, "pending": found.pending})


def _apis(google: Google, project: str, wanted: tuple[str, ...]) -> Iterator[Seen]:
    every = google.pages("serviceusage.v1", "services.list", "services", parent=f"projects/{project}", filter="state:ENABLED", pageSize=200)
    on = {str(one.get("config", {}).get("name") or one["name"].rpartition("/")[2]) for one in every}
    off = [name for name in wanted if name not in on]
    if off:
        yield Seen("apis", "failed", f"{len(off)} off", ", ".join(off), f"gcloud services enable {' '.join(off)} --project={project}")
    else:
        yield Seen("apis", "ok", f"{len(wanted)} on")


def _bucket(google: Google, thing: Thing) -> Iterator[Seen]:
    body = google.found("storage.v1", "buckets.get", bucket=thing.id)
    if body is None:
        yield _missing(thing)
        return
    kept = body.get("versioning", {}).get("enabled")
    fix = "" if kept else "pulumi up turns versions on: without them a state that is overwritten is lost"
    yield Seen(
        thing.path,
        "ok" if kept else "warning",
        "there",
        _words(str(body.get("location", "")), "versions are kept" if kept else "keeps no versions"),
        fix,
    )


KINDS = {
    "services": (("apis/apps/v1", "deployments"), ("apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets")),
    "jobs": (("apis/batch/v1", "jobs"), ("apis/jobset.x-k8s.io/v1alpha2", "jobsets"), ("apis/batch/v1", "cronjobs")),
    "ray_clusters": (("apis/ray.io/v1", "rayclusters"),),
}
"""What each kind of an `apps` file may be in the cluster, by group and plural, the likeliest first."""


def _in_cluster(google: Google, cluster: str, declared: list[Thing]) -> Iterator[Seen]:
    """What lives in a cluster, by its own API; and pods that wait."""
    body = google.found(CONTAINER, "projects.locations.clusters.get", name=cluster)
    endpoint = str(((body or {}).get("controlPlaneEndpointsConfig") or {}).get("dnsEndpointConfig", {}).get("endpoint", ""))
    if not endpoint:
        why = "the cluster is not there" if body is None else "the cluster has no DNS endpoint, and no other is asked"
        yield from (
            Seen(one.path, "failed" if body is None else "unknown", MISSING if body is None else "unknown", why) for one in declared
        )
        return
    for one in declared:
        yield _of_object(one, _object(google, endpoint, one))
    for namespace in sorted({one.part("namespaces") for one in declared}):
        pods = google.read(endpoint, f"api/v1/namespaces/{namespace}/pods") or {}
        for pod in pods.get("items", []):
            if pod.get("status", {}).get("phase") in ("Pending", "Failed"):
                yield _of_pod(pod)


def _object(google: Google, endpoint: str, thing: Thing) -> dict[str, Any] | None:
    for group, plural in KINDS[thing.kind]:
        found = google.read(endpoint, f"{group}/namespaces/{thing.part('namespaces')}/{plural}/{thing.id}")
        if found is not None:
            return found
    return None


def _of_object(thing: Thing, body: Mapping[str, Any] | None) -> Seen:
    if body is None:
        return _missing(thing)
    status = body.get("status", {})
    wanted, ready = int(body.get("spec", {}).get("replicas", 0)), int(status.get("readyReplicas", 0))
    bad = [
        f"{one['type']}: {one.get('message', '')}".rstrip(": ")
        for one in status.get("conditions", [])
        if one.get("type") in BAD and one.get("status") == "True"
    ]
    kind = str(body.get("kind", ""))
    if kind in ("Deployment", "LeaderWorkerSet"):
        well = ready >= wanted and not bad
        fix = "" if well else f"accelform logs {thing.path}"
        return Seen(
            thing.path, "ok" if well else "failed", f"{ready} of {wanted} ready", _words(*bad), fix, {"ready": ready, "wanted": wanted}
        )
    state = str(
        status.get("state")
        or ("failed" if bad else "succeeded" if status.get("succeeded") else "runs" if status.get("active") else "is there")
    )
    return Seen(thing.path, "failed" if bad else "ok", state, _words(*bad), f"accelform logs {thing.path}" if bad else "")


BAD = ("Failed", "ReplicaFailure", "FailureTarget")
"""Conditions that tell of a failure where they hold."""


def _of_pod(pod: Mapping[str, Any]) -> Seen:
    meta, status = pod["metadata"], pod["status"]
    why = [str(one.get("message", "")) for one in status.get("conditions", []) if one.get("status") == "False" and one.get("message")]
    failed = status["phase"] == "Failed"
    said = _words(f"{meta['namespace']}/{meta['name']}", *why[:1])
    return Seen(
        "pods",
        "failed" if failed else "warning",
        str(status["phase"]),
        said,
        "accelform status of the region: has the pool nodes?" if not failed else "",
    )
