"""Cloud TPU: nodes and queued resources of the TPU API, and what each zone has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.sandbox import lists
from infra.sandbox.operations import LongRunning, tpu_metadata
from infra.sandbox.service import Body, Service
from infra.sandbox.services.tpu import nodes, offers, queued

if TYPE_CHECKING:
    from infra.sandbox.cloud import Cloud


class TpuOperations(LongRunning):
    """A response says which of the two kinds it is."""

    def shown(self, cloud: Cloud, service: Service, operation: Body) -> Body:
        word = "QueuedResource" if operation["resource"] == queued.RESOURCE else "Node"
        return super().shown(cloud, service, operation | {"response_type": f"google.cloud.tpu.v2.{word}"})


SERVICE = Service(
    host=nodes.HOST,
    apis=("tpu.v2",),
    operations=TpuOperations(metadata=tpu_metadata(lambda verb: {"patch": "update"}.get(verb, verb), "v2")),
    kinds=(nodes.NODE, queued.QUEUED),
    handlers={**nodes.HANDLERS, **queued.HANDLERS, **offers.HANDLERS},
    verbs={"list": lists.everywhere},  # what `--zone=-` of Google's command line asks for
    settle=queued.settle,
)
