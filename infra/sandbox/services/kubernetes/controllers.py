"""
What runs by itself in a cluster: controllers look at its objects until none has anything left to do, and say when they want to look again.

They run after every write, and whenever the clock passes a moment that one of them waits for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from infra.sandbox.services.container import parts
from infra.sandbox.services.kubernetes import (
    autoscaling,
    garbage,
    jobs,
    jobsets,
    kueue,
    namespaces,
    networking,
    pods,
    scaler,
    scheduler,
    volumes,
    workloads,
)
from infra.sandbox.services.kubernetes.objects import ANSWERS, STORED, Cluster
from infra.sandbox.services.kubernetes.view import View

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud

WRONG = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
ROUNDS = 100
"""After so many, one controller undoes what another one does: nothing more is to be had of it."""
ORDER: tuple[Callable[[View], None], ...] = (
    namespaces.run,
    garbage.run,
    autoscaling.run,
    jobs.cron,
    kueue.run,
    jobsets.run,
    jobsets.leaders,
    jobs.run,
    workloads.deployments,
    workloads.replica_sets,
    workloads.stateful_sets,
    workloads.daemon_sets,
    volumes.run,
    scheduler.run,
    scaler.run,
    pods.run,
    networking.run,
)
"""Each of them finds what those before it have made."""


def settle(cloud: Cloud) -> None:
    """Has the controllers of every cluster look, where anything that they look at has changed."""
    if not cloud.kubernetes.changed:
        return
    for name in cloud.store.fact(f"{STORED}/clusters") or []:
        if cloud.store.get(parts.HOST, name) is None:
            _forget(cloud, name)
        else:
            run(Cluster(cloud, name))
    cloud.kubernetes.changed = False


def wakes(cloud: Cloud, name: str) -> None:
    """Has the controllers of the cluster of that name look."""
    before = cloud.kubernetes.changed
    run(Cluster(cloud, name))
    cloud.kubernetes.changed = before


def run(cluster: Cluster) -> None:
    """Has the controllers of one cluster look, until nothing is left to do now."""
    if cluster.body.get("status") not in ANSWERS:
        return
    view, able = View(cluster), list(ORDER)
    for _ in range(ROUNDS):
        before, count = view.writes, len(able)
        view.begin()
        for controller in tuple(able):
            try:
                with cluster.cloud.store.transaction():
                    controller(view)
            except WRONG as error:  # an object that no controller reads as it is: the others go on, as they do in a real cluster
                able.remove(controller)
                view = View(cluster)
                warnings.warn(f"{cluster.name}: {controller.__module__}.{controller.__name__}: {error!r}", RuntimeWarning, stacklevel=2)
        if view.writes == before and len(able) == count:
            break
    cluster.cloud.store.set_timer(STORED, cluster.name, view.wakes)


def _forget(cloud: Cloud, name: str) -> None:
    """The objects of a cluster go with it."""
    cloud.store.delete(STORED, name)
    cloud.store.set_fact(f"{STORED}/made/{name}", None)
    known = cloud.store.fact(f"{STORED}/clusters") or []
    cloud.store.set_fact(f"{STORED}/clusters", [one for one in known if one != name])


class Watch:
    """Whether anything changed since the controllers looked. In memory: a new server looks once at all."""

    def __init__(self) -> None:
        self.changed = True

    def saw(self, service: str, name: str) -> None:
        """Told of every resource that is made, changed or removed."""
        if service in (STORED, parts.HOST) or "/members/" in name or "/instances/" in name:
            self.changed = True
