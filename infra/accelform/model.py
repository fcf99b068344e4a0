"""`accelform:vertex:Model`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi


class Model(pulumi.CustomResource):
    """
    A model in Vertex AI's registry, with its versions.

    Another image, other files or another contract of the container are uploaded as another version; what was uploaded before is found
    again, and its aliases move. Source: discovery document aiplatform v1, revision 20261106.

    Args:
        project: Id of the project. Immutable.
        location: Region of the model; image and files must be in it too. Immutable.
        model_id: Last part of the model's name: 1 to 63 of a-z, 0-9, _ and -, a letter or _ first. Immutable.
        display_name: Name for people, 1 to 128 characters.
        description: What the model is for.
        labels: Labels of the version that the inputs describe. Earlier versions keep theirs.
        image_uri: Image of the container, by its digest, in an Artifact Registry repository of the region. Needed, as ports and
            routes are, where versions are uploaded here.
        allow_tag: Allows an image by its tag alone. Another image under the same tag is then not seen.
        artifact_uri: Folder of the model's files, `gs://...`, in a bucket of the region. They are copied at the upload: other files under
            the same address are not seen.
        ports: The one port that the container serves HTTP on.
        predict_route: Path that predictions are asked at.
        health_route: Path that says whether the container is healthy.
        command: What runs instead of the image's entry point.
        args: Its arguments, instead of the image's.
        env: Environment of the container, sent in the order of the names. A value may be a secret; whoever may read the model reads it.
        startup_probe: Says whether the container has started, in Google's form.
        health_probe: Says whether it can take requests.
        liveness_probe: Says whether it is to be started again.
        shared_memory_size_mb: Shared memory, in MB of the machine's.
        deployment_timeout: How long a deployment may take: `1800s`, at most two hours.
        version_description: What is new in the version.
        version_aliases: Aliases of the version that the inputs describe. They are this resource's: each update gives them back to it.
        first_aliases: Aliases that are given where no version has them yet. Whoever moves one keeps it.
        uploaded_by: Who uploads the versions, such as `job train`: then none is uploaded here, and nothing of a version is said.
        keep_versions: How many versions stay; older ones that are neither deployed nor have an alias are deleted. (default: all)
    """

    def __init__(
        self,
        resource_name: str,
        *,
        project: pulumi.Input[str],
        location: pulumi.Input[str],
        model_id: pulumi.Input[str],
        display_name: pulumi.Input[str],
        image_uri: pulumi.Input[str] | None = None,
        ports: pulumi.Input[Sequence[pulumi.Input[int]]] | None = None,
        predict_route: pulumi.Input[str] | None = None,
        health_route: pulumi.Input[str] | None = None,
        description: pulumi.Input[str] | None = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        allow_tag: pulumi.Input[bool] = False,
        artifact_uri: pulumi.Input[str] | None = None,
        command: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        args: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        env: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        startup_probe: pulumi.Input[Mapping[str, object]] | None = None,
        health_probe: pulumi.Input[Mapping[str, object]] | None = None,
        liveness_probe: pulumi.Input[Mapping[str, object]] | None = None,
        shared_memory_size_mb: pulumi.Input[int] | None = None,
        deployment_timeout: pulumi.Input[str] | None = None,
        version_description: pulumi.Input[str] | None = None,
        version_aliases: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        first_aliases: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        uploaded_by: pulumi.Input[str] | None = None,
        keep_versions: pulumi.Input[int] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = {
            "project": project,
            "location": location,
            "modelId": model_id,
            "displayName": display_name,
            "description": description,
            "labels": labels,
            "imageUri": image_uri,
            "allowTag": allow_tag,
            "artifactUri": artifact_uri,
            "ports": ports,
            "predictRoute": predict_route,
            "healthRoute": health_route,
            "command": command,
            "args": args,
            "env": env,
            "startupProbe": startup_probe,
            "healthProbe": health_probe,
            "livenessProbe": liveness_probe,
            "sharedMemorySizeMb": shared_memory_size_mb,
            "deploymentTimeout": deployment_timeout,
            "versionDescription": version_description,
            "versionAliases": version_aliases,
            "firstAliases": first_aliases,
            "uploadedBy": uploaded_by,
            "keepVersions": keep_versions,
            "name": None,
            "versionId": None,
            "versionName": None,
            "aliases": None,
            "versions": None,
        }
        super().__init__("accelform:vertex:Model", resource_name, props, opts)

    @property
    def name(self) -> pulumi.Output[str]:
        """Full name, without a version."""
        return pulumi.Output.from_input(self.__dict__["name"])

    @property
    def version_id(self) -> pulumi.Output[str]:
        """Number of the version that the inputs describe; empty while its upload runs."""
        return pulumi.Output.from_input(self.__dict__["versionId"])

    @property
    def version_name(self) -> pulumi.Output[str]:
        """Full name of that version: name, `@` and number."""
        return pulumi.Output.from_input(self.__dict__["versionName"])

    @property
    def aliases(self) -> pulumi.Output[Mapping[str, str]]:
        """Which version each alias names, whoever gave it."""
        return pulumi.Output.from_input(self.__dict__["aliases"])

    @property
    def versions(self) -> pulumi.Output[Sequence[Mapping[str, object]]]:
        """Every version, oldest first: `versionId`, `createTime`, `imageUri`, `aliases`."""
        return pulumi.Output.from_input(self.__dict__["versions"])

    def at(self, alias: str) -> pulumi.Output[str]:
        """Full name of the version that goes by *alias*: it names another one once the alias moves."""
        return pulumi.Output.concat(self.name, "@", alias)
