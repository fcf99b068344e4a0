"""Cloud Storage's JSON API. Names of buckets are one space for all projects."""

from infra.sandbox.operations import LongRunning
from infra.sandbox.refused import Refused
from infra.sandbox.service import Call, Service
from infra.sandbox.services.storage import access, buckets, folders, objects, parts


def _absent(call: Call) -> None:
    """The generic verbs do not know this API's names."""
    raise Refused(501, f"The sandbox does not have {call.method.id} yet.", style="both")


SERVICE = Service(
    host=parts.HOST,
    apis=("storage.v1",),
    operations=LongRunning(),
    errors="errors",
    keeps_empty=True,
    verbs=dict.fromkeys(("insert", "create", "get", "list", "patch", "update", "delete", "getIamPolicy", "setIamPolicy"), _absent),
    handlers={
        "buckets.insert": buckets.insert,
        "buckets.get": buckets.get,
        "buckets.list": buckets.list_,
        "buckets.patch": buckets.patch,
        "buckets.update": buckets.update,
        "buckets.delete": buckets.delete,
        "buckets.getIamPolicy": access.get_policy,
        "buckets.setIamPolicy": access.set_policy,
        "buckets.testIamPermissions": access.permissions,
        "buckets.getStorageLayout": buckets.layout,
        "bucketAccessControls.list": access.list_acl,
        "projects.serviceAccount.get": buckets.service_account,
        "objects.insert": objects.insert,
        "objects.get": objects.get,
        "objects.list": objects.list_,
        "objects.patch": objects.patch,
        "objects.update": objects.update,
        "objects.delete": objects.delete,
        "objects.copy": objects.copy,
        "objects.rewrite": objects.rewrite,
        "objects.move": objects.move,
        "objects.compose": objects.compose,
        "managedFolders.insert": folders.insert,
        "managedFolders.get": folders.get,
        "managedFolders.list": folders.list_,
        "managedFolders.delete": folders.delete,
        "managedFolders.getIamPolicy": folders.get_policy,
        "managedFolders.setIamPolicy": folders.set_policy,
        "managedFolders.testIamPermissions": access.permissions,
        "folders.insert": folders.insert,
        "folders.get": folders.get,
        "folders.list": folders.list_,
        "folders.delete": folders.delete,
        "notifications.insert": folders.insert_notification,
        "notifications.list": folders.list_notifications,
        "notifications.get": folders.get_notification,
        "notifications.delete": folders.delete_notification,
        "anywhereCaches.list": folders.list_caches,
    },
)
