"""
A provider whose cloud is a folder: one file a resource. Where a file `stop` names an operation and a moment, it stops there for ever, as
if the answer never came, and writes so into the pipe `stopped`: the engine can then be killed in the middle.
"""

import json
import os
import sys
import threading
from pathlib import Path

sys.path.pop(0)

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from infra.provider.server import serve

CLOUD = Path(os.environ["FOLDER_CLOUD"])


def stop(operation, urn):
    """Stops where the test says so, and tells it."""
    try:
        wanted = (CLOUD / "stop").read_text()
    except FileNotFoundError:
        return
    if wanted in (operation, f"{operation} {urn.rpartition('::')[2]}"):
        (CLOUD / "stopped").write_text(urn)
        threading.Event().wait()


def as_dict(struct):
    return json_format.MessageToDict(struct)


def as_struct(data):
    struct = struct_pb2.Struct()
    struct.update(data)
    return struct


class Folder(provider_pb2_grpc.ResourceProviderServicer):
    def Handshake(self, request, context):  # noqa: N802
        return provider_pb2.ProviderHandshakeResponse()

    def GetPluginInfo(self, request, context):  # noqa: N802
        return plugin_pb2.PluginInfo(version="10.2.0")

    def CheckConfig(self, request, context):  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request, context):  # noqa: N802
        return provider_pb2.DiffResponse()

    def Configure(self, request, context):  # noqa: N802
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    def Check(self, request, context):  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request, context):  # noqa: N802
        changed = [key for key, value in request.news.fields.items() if request.old_inputs.fields.get(key) != value]
        kind = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        renamed = ["name"] if "name" in changed else []
        return provider_pb2.DiffResponse(changes=kind, diffs=changed, replaces=renamed)

    def Create(self, request, context):  # noqa: N802
        if request.preview:
            return provider_pb2.CreateResponse(properties=request.properties)
        stop("before create", request.urn)
        name = as_dict(request.properties)["name"]
        path = CLOUD / f"{name}.json"
        if path.exists():
            context.abort(grpc.StatusCode.ALREADY_EXISTS, f"{name} exists already")
        path.write_text(json.dumps(as_dict(request.properties)))
        stop("after create", request.urn)
        return provider_pb2.CreateResponse(id=name, properties=request.properties)

    def Read(self, request, context):  # noqa: N802
        stop("read", request.urn)
        path = CLOUD / f"{request.id}.json"
        if not path.exists():
            return provider_pb2.ReadResponse()
        found = as_struct(json.loads(path.read_text()))
        return provider_pb2.ReadResponse(id=request.id, properties=found, inputs=found)

    def Update(self, request, context):  # noqa: N802
        stop("before update", request.urn)
        (CLOUD / f"{request.id}.json").write_text(json.dumps(as_dict(request.news)))
        stop("after update", request.urn)
        return provider_pb2.UpdateResponse(properties=request.news)

    def Delete(self, request, context):  # noqa: N802
        stop("before delete", request.urn)
        (CLOUD / f"{request.id}.json").unlink(missing_ok=True)
        stop("after delete", request.urn)
        return empty_pb2.Empty()

    def Cancel(self, request, context):  # noqa: N802
        return empty_pb2.Empty()


serve(Folder())
