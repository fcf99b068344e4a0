"""
A provider that makes nothing and answers with what it was given: the floor under every engine test. It stands in for the official plugin
where the engine is tested, never for a cloud.
"""

import os
import sys

sys.path.pop(0)

from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from infra.provider.server import serve

CURRENCY = os.environ.get("ECHO_CURRENCY", "USD")
BUCKET_LOCATION = os.environ.get("ECHO_BUCKET_LOCATION", "")


class Echo(provider_pb2_grpc.ResourceProviderServicer):
    def Handshake(self, request, context):  # noqa: N802
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, accept_resources=True)

    def GetPluginInfo(self, request, context):  # noqa: N802
        return plugin_pb2.PluginInfo(version="10.2.0")

    def CheckConfig(self, request, context):  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request, context):  # noqa: N802
        return provider_pb2.DiffResponse()

    def Configure(self, request, context):  # noqa: N802
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True, acceptResources=True)

    def Check(self, request, context):  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request, context):  # noqa: N802
        changed = [key for key, value in request.news.fields.items() if request.old_inputs.fields.get(key) != value]
        kind = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=kind, diffs=changed)

    def Create(self, request, context):  # noqa: N802
        if request.preview:
            return provider_pb2.CreateResponse(properties=request.properties)
        made = struct_pb2.Struct()
        made.CopyFrom(request.properties)
        if request.urn.split("::")[2].endswith("gcp:serviceaccount/account:Account"):
            made["member"] = f"serviceAccount:{made['accountId']}@p.iam.gserviceaccount.com"
            made["email"] = f"{made['accountId']}@p.iam.gserviceaccount.com"
        return provider_pb2.CreateResponse(id=f"id-{request.urn.rpartition('::')[2]}", properties=made)

    def Read(self, request, context):  # noqa: N802
        found = struct_pb2.Struct()
        found.CopyFrom(request.properties)
        if BUCKET_LOCATION and request.urn.split("::")[2].endswith("bucket:Bucket"):
            found["location"] = BUCKET_LOCATION
        return provider_pb2.ReadResponse(id=request.id, properties=found, inputs=request.inputs)

    def Update(self, request, context):  # noqa: N802
        return provider_pb2.UpdateResponse(properties=request.news)

    def Delete(self, request, context):  # noqa: N802
        return empty_pb2.Empty()

    def Cancel(self, request, context):  # noqa: N802
        return empty_pb2.Empty()

    def Invoke(self, request, context):  # noqa: N802
        known = struct_pb2.Struct()
        known.update({"billingAccount": "01ABCD-23EFGH-45IJKL", "number": "123456789012", "currencyCode": CURRENCY, "id": "x", "name": "x"})
        return provider_pb2.InvokeResponse(**{"return": known})


serve(Echo())
