"""The table of `translated`: which words of an API or of the engine mean what. The first that fits counts, so what is special comes "
"first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

DEFAULTS = {
    "service": "the API",
    "project": "PROJECT",
    "permission": "the permission",
    "resource": "the resource",
    "account": "the account",
    "user": "something else",
    "plugin": "a plugin",
    "stack": "STACK",
    "count": "some",
    "name": "the name",
}
"""What stands for a part that the words did not have."""


class Words(dict[str, str]):
    """Parts of what was said, by name."""

    def __missing__(self, key: str) -> str:
        return DEFAULTS.get(key, "")


@dataclass(frozen=True, slots=True)
class Known:
    """One kind of error."""

    key: str
    says: re.Pattern[str]
    """Searched in the words, in one line."""
    what: str
    fix: str
    source: str
    allowed: str = ""
    more: Callable[[Words, str], Mapping[str, str]] | None = None
    """Makes parts of the text from parts of what was said."""


def _known(
    key: str, says: str, what: str, fix: str, source: str, allowed: str = "", more: Callable[..., Mapping[str, str]] | None = None
) -> Known:
    return Known(key, re.compile(says, re.IGNORECASE), what, fix, source, allowed, more)


CONSTRAINTS = {
    "compute.vmExternalIpAccess": ("an external address, which this project's machines never have", "look for what else gives one"),
    "compute.requireOsLogin": ("machines without OS Login, which those of a stack have", "look for metadata that turns it off"),
    "compute.requireShieldedVm": (
        "machines without secure boot",
        "write `secure_boot: true` where the machine takes it: accelform explain gpu_vms",
    ),
    "compute.trustedImageProjects": (
        "images of projects that are not trusted",
        "have the image's project trusted: accelform doctor --cloud names it",
    ),
    "compute.restrictCloudNATUsage": (
        "the NAT of `network`",
        "have the subnetwork allowed, or write `network.nat: false`, with what follows from it",
    ),
    "compute.requireVpcFlowLogs": ("a subnetwork without flow logs", "have the subnetwork excepted"),
    "compute.restrictLoadBalancerCreationForTypes": (
        "the load balancer of what is exposed in `apps`",
        "have the type allowed, or leave `expose` out",
    ),
    "compute.restrictVpcPeering": ("a peering of networks", "have it allowed"),
    "gcp.resourceLocations": ("the region or zone of the stack", "take a region that is allowed, or have this one allowed"),
    "gcp.restrictServiceUsage": ("an API that the stack calls", "have the service allowed: accelform check lists those that a stack calls"),
    "gcp.restrictNonCmekServices": ("resources without a key of one's own", "have the service excepted"),
    "iam.disableServiceAccountCreation": ("the service accounts of the stack", "have the project excepted"),
    "iam.managed.disableServiceAccountCreation": ("the service accounts of the stack", "have the project excepted"),
    "iam.disableServiceAccountKeyCreation": ("a key of a service account, which no stack makes", "look for what else makes one"),
    "iam.allowedPolicyMemberDomains": (
        "a member of another organisation under `callers`",
        "take the member out, or have its domain allowed",
    ),
    "storage.uniformBucketLevelAccess": ("buckets without uniform access, which those of a stack have", "look for what else makes one"),
    "storage.publicAccessPrevention": ("public access to a bucket, which no stack gives", "look for what else gives it"),
}
"""Constraint -> what of a stack it stands against, and what mends it.
Source: https://cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints, read 2026-11."""


def _constraint(words: Words, said: str) -> Mapping[str, str]:
    match = re.search(r"constraints/([\w.]*\w)", said)
    name = match[1] if match else "of its own"
    against, mend = CONSTRAINTS.get(name, ("what was to be made", "have the project excepted"))
    return {"constraint": name, "against": against, "mend": mend}


ZONE = re.compile(r"(?:zones/|zone '?\"?|in the )([a-z]+-[a-z]+\d+-\w+)|in region:? ([a-z]+-[a-z]+\d+)")


def _elsewhere(words: Words, said: str) -> Mapping[str, str]:
    """Zones of the catalogue that have the same machine, the nearest first; the command that lists them where the machine is not known."""
    from infra.catalog import gpu_machines, gpu_zones, tpu, zones

    shapes, machines = tpu.shapes(), gpu_machines.machines()
    asked = [words["machine"], *re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", said)]
    machine = next((word for word in asked if word in shapes or word in machines), "")
    match = ZONE.search(said)
    place = (match[1] or match[2]) if match else ""
    near = place or "us-central1-a"
    found: list[str] = []
    if machine in shapes:
        found = [one.zone for one in zones.nearest(shapes[machine], near, "on-demand")]
    elif machine in machines:
        found = [one.zone for one in gpu_zones.nearest(machines[machine], near, "on-demand")]
    others = [zone for zone in dict.fromkeys(found) if zone != place][:6]
    return {
        "machine": machine or "this",
        "place": place or "the place that was asked for",
        "zones": f"zones with {machine}, by the catalogue: {', '.join(others)}" if others else "",
        "ask": f"accelform catalog zones {machine or 'NAME'} --near {place or 'REGION'}",
    }


def _service(words: Words, said: str) -> Mapping[str, str]:
    """The service and the project of an API that is off, from wherever they stand."""
    service = re.search(r"[a-z0-9-]+\.googleapis\.com", said)
    consumer = re.search(r'"consumer": ?"projects/([^"]+)"|[?&]project=([a-z0-9-]+)|project[ =]#?(\d+)', said)
    names = {"service": service[0], "enable": service[0]} if service else {"enable": "SERVICE.googleapis.com"}
    return names | ({"project": next(filter(None, consumer.groups()))} if consumer else {})


def _perimeter(words: Words, said: str) -> Mapping[str, str]:
    match = re.search(r"UniqueIdentifier: *([\w-]+)", said)
    return {"id": match[1] if match else "ITS_IDENTIFIER"}


def _quota(words: Words, said: str) -> Mapping[str, str]:
    """Which quota, how much of it there is, and where it counts."""
    places = (words.get("place"), words.get("tpu_place"))
    place = next(
        (f"in {one}" for one in places if one), "in all regions together" if words.get("all") else "in the region that was asked for"
    )
    names = (words.get(key) for key in ("quota", "tpu", "vertex", "gke", "metric"))
    return {
        "quota": next(filter(None, names), "that this needs"),
        "limit": words.get("limit") or words.get("tpu_limit") or "unknown",
        "place": place,
    }


def _first(*names: str) -> Callable[[Words, str], Mapping[str, str]]:
    """A part under the first of its names, whichever of several wordings had it."""

    def found(words: Words, said: str) -> Mapping[str, str]:
        return {names[0]: next((words[name] for name in names if name in words), DEFAULTS[names[0]])}

    return found


def _plugin(words: Words, said: str) -> Mapping[str, str]:
    version = re.search(r"at version v?([0-9.]+[0-9])", said)
    return {"version": f" {version[1]}" if version else "", "plugin": words["plugin"].removeprefix("pulumi-resource-")}


QUOTA_FIX = (
    "ask for more under `quota_requests` of the foundation's file (accelform explain quota_requests); accelform status says what became of "
    "it; or take another zone, or another way of buying: each has a quota of its own"
)
QUOTA_PAGE = "https://cloud.google.com/docs/quotas/overview, read 2026-11"
IAM_PAGE = "https://cloud.google.com/iam/docs/permission-error-messages, read 2026-11"
ADC_PAGE = "https://cloud.google.com/docs/authentication/troubleshoot-adc, read 2026-11"
STOCK_PAGE = "https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-resource-availability, read 2026-11"
STOCK_FIX = "{ask}; or try later, or buy another way: a quota promises no capacity"
ENGINE = "pulumi 3.274.1"

KNOWN: tuple[Known, ...] = (
    # The engine
    _known(
        "locked",
        r"the stack is currently locked by (?P<count>\d+) lock",
        "another update works on this stack",
        "wait for it; where it is known to be dead, accelform recover",
        f"{ENGINE}, pkg/backend/diy/lock.go",
    ),
    _known(
        "busy",
        r"\[409\] Conflict: Another update is currently in progress|another update is currently in progress",
        "another update works on this stack, by the word of Pulumi's service",
        "wait for it, and let one pipeline a stack run at a time (accelform gitops init github does); only where it is known to be dead: "
        "pulumi cancel",
        "https://www.pulumi.com/docs/support/troubleshooting/common-issues/update-conflicts/, read 2026-11",
    ),
    _known(
        "pending",
        r"(?:with|has) (?P<count>\d+) pending operations?",
        "a run was killed, and of {count} resources nobody knows whether they were made",
        "accelform recover; in Google Cloud, pulumi refresh, and look for each that it names",
        "https://www.pulumi.com/docs/support/troubleshooting/common-issues/interrupted-updates/, read 2026-11",
    ),
    _known(
        "passphrase",
        r"incorrect passphrase|passphrase must be set with PULUMI_CONFIG_PASSPHRASE|failed to decrypt encrypted configuration value"
        r"|error getting secrets manager",
        "the secrets of this stack are locked by another passphrase or key than the one that was given",
        "give the one that the stack was made with: PULUMI_CONFIG_PASSPHRASE_FILE, or the key that `secretsprovider` of its stack file "
        "names; a state "
        "keeps the one it was made with, whatever the file says since: pulumi stack change-secrets-provider",
        "https://www.pulumi.com/docs/iac/concepts/secrets/, read 2026-11",
    ),
    _known(
        "kms",
        r"(?:decrypt|encrypt)\w*.{0,80}(?:cryptoKeys|Cloud KMS|cloudkms)|cloudkms\.cryptoKeyVersions\.useToDecrypt",
        "the key of this stack's secrets may not be used by who runs this",
        "grant roles/cloudkms.cryptoKeyEncrypterDecrypter on the key",
        "https://cloud.google.com/kms/docs/reference/permissions-and-roles, read 2026-11",
    ),
    _known(
        "not-logged-in",
        r"PULUMI_ACCESS_TOKEN must be set for login|not logged in to|please run `?pulumi login|no credentials provided for backend",
        "the engine knows no backend for the state",
        "on this machine, accelform up, which brings its own; in Google Cloud, pulumi login gs://BUCKET, or PULUMI_BACKEND_URL",
        "https://www.pulumi.com/docs/iac/concepts/state-and-backends/, read 2026-11",
    ),
    _known(
        "no-stack",
        r"no stack named '(?P<stack>[^']+)' found",
        "the backend has no stack {stack}",
        "pulumi stack ls says which there are; another backend: pulumi whoami -v; a new one: pulumi stack init {stack}",
        ENGINE,
    ),
    _known(
        "no-plugin",
        r"no (?:resource|language) plugin '(?P<plugin>[^']+)' found|could not (?:find|locate) plugin (?P<name>\S+)|failed to load plugin",
        "the engine has no plugin {plugin}{version}",
        "pulumi plugin install resource {plugin}{version}; on this machine, accelform up places it: accelform doctor says what is there",
        "https://www.pulumi.com/docs/iac/cli/commands/pulumi_plugin_install/, read 2026-11",
        more=_plugin,
    ),
    _known(
        "protected",
        r"it is currently marked for protection|as it is currently marked",
        "it holds data or capacity that may not come again, and the stack protects it",
        "take it away knowingly: pulumi state unprotect URN, then the same command; `environment: dev` protects nothing",
        "https://www.pulumi.com/docs/iac/concepts/options/protect/, read 2026-11",
    ),
    _known(
        "unreachable-cluster",
        r"configured Kubernetes cluster is unreachable|unable to load schema information from the API server",
        "the cluster does not answer, and what lives in it can be neither looked at nor taken away",
        "bring the cluster's stack up first; where it is gone for good, PULUMI_K8S_DELETE_UNREACHABLE=true before pulumi destroy; "
        "accelform down "
        "does so itself",
        "https://www.pulumi.com/registry/packages/kubernetes/api-docs/provider/, read 2026-11",
    ),
    # Who asks
    _known(
        "login-expired",
        r"invalid_grant|invalid_rapt|reauth(?:entication)? (?:is needed|related error)|token has been expired or revoked",
        "the login on this machine has expired, or was revoked",
        "gcloud auth application-default login",
        ADC_PAGE,
    ),
    _known(
        "no-login",
        r"could not find default credentials|default credentials were not found|no credentials loaded|no credentials for Google Cloud",
        "there are no credentials for Google Cloud on this machine",
        "gcloud auth application-default login; in a pipeline, workload identity federation: accelform gitops init github",
        ADC_PAGE,
    ),
    _known(
        "scopes",
        r"ACCESS_TOKEN_SCOPE_INSUFFICIENT|insufficient authentication scopes",
        "the login has not the scopes that {service} asks for",
        "gcloud auth application-default login",
        ADC_PAGE,
        more=_service,
    ),
    _known(
        "quota-project",
        r"requires a quota project|end user credentials .{0,120}not supported by",
        "a person's own login charges no project with the quota, and {service} answers only where one is charged",
        "gcloud auth application-default set-quota-project PROJECT, a project in which {service} is on; the budgets of a stack charge "
        "its own",
        "https://cloud.google.com/docs/authentication/adc-troubleshooting/user-creds, read 2026-11",
        more=_service,
    ),
    _known(
        "charged-project",
        r"USER_PROJECT_DENIED|does not have required permission to use project (?P<project>[a-z0-9-]+)",
        "you may not charge quota to {project}, or it is not there",
        "gcloud projects add-iam-policy-binding {project} --member=user:YOUR_EMAIL --role=roles/serviceusage.serviceUsageConsumer",
        IAM_PAGE,
    ),
    _known(
        "vpc-sc",
        r"prohibited by organization's policy|vpcServiceControlsUniqueIdentifier",
        "a perimeter of VPC Service Controls stands between you and the project",
        "run it from within the perimeter, or have your access level and the service admitted; the administrator finds it by {id}: "
        "gcloud logging read protoPayload.metadata.vpcServiceControlsUniqueId={id}",
        "https://cloud.google.com/vpc-service-controls/docs/troubleshooting, read 2026-11",
        more=_perimeter,
    ),
    _known(
        "api-off",
        r"(?P<service>[A-Z][\w ]{2,60} API) has not been used in project (?P<project>[\w:.-]+) before or it is disabled"
        r"|SERVICE_DISABLED|has not been used in project|Access Not Configured",
        "{service} is off in project {project}",
        "gcloud services enable {enable} --project={project}, then wait some minutes; with a foundation it stands under `apis`; an API "
        "must be on "
        "in the project that is charged with the quota, too",
        "https://cloud.google.com/service-usage/docs/enable-disable, read 2026-11",
        more=_service,
    ),
    _known(
        "billing-off",
        r"BILLING_DISABLED|requires billing to be enabled|UREQ_PROJECT_BILLING_NOT_OPEN|billing account .{0,40}is not open",
        "nobody pays for project {project}: it has no open billing account",
        "gcloud billing projects link {project} --billing-account=ACCOUNT",
        "https://cloud.google.com/billing/docs/how-to/modify-project, read 2026-11",
        more=_service,
    ),
    _known(
        "org-policy",
        r"constraints/[\w.]+|denied by org(?:anization)? policy",
        "the organisation's policy {constraint} forbids {against}",
        "{mend}; gcloud org-policies describe {constraint} --project=PROJECT --effective; accelform doctor --cloud asks them all before",
        "https://cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints, read 2026-11",
        more=_constraint,
    ),
    _known(
        "agent-not-there",
        r"service agents? (?:are|is) being provisioned|service account (?P<account>service-\d+@[\w.-]+) does not exist",
        "the account by which Google's own service works here is not there yet",
        "wait some minutes and run the same again; else: gcloud beta services identity create --service=SERVICE --project=PROJECT",
        "https://cloud.google.com/iam/docs/service-agents, read 2026-11",
    ),
    _known(
        "account-not-there",
        r"service account '?(?P<account>[\w.@-]+)'? does not exist",
        "{account} was just made, and not all of Google knows it yet; or it is of another project",
        "run the same again in a minute: what was made stays",
        "https://cloud.google.com/iam/docs/access-change-propagation, read 2026-11",
    ),
    _known(
        "act-as",
        r"iam\.serviceAccounts\.actAs",
        "who runs this may not give that service account to a machine",
        "grant roles/iam.serviceAccountUser on the account: accelform doctor --cloud asks every permission of a stack before",
        "https://cloud.google.com/iam/docs/service-accounts-actas, read 2026-11",
    ),
    _known(
        "wrong-project",
        r"CONSUMER_INVALID|project '?(?P<project>[^'\"]{1,80}?)'? (?:was )?not found or deleted|Unknown project id: (?P<other>\S+)"
        r"|Permission denied on resource project (?P<denied>[^.,\s]+)|Read access to project (?P<read>\S+) was denied",
        "project {project} is not there, or not for you",
        "write the project's id, not its name: gcloud projects list; with another account: gcloud auth list",
        "https://cloud.google.com/resource-manager/docs/creating-managing-projects, read 2026-11",
        more=_first("project", "other", "denied", "read"),
    ),
    _known(
        "permission",
        r"Permission '(?P<permission>[\w.]+)' denied(?: on (?:resource )?'?(?P<resource>[^' ]+))?"
        r"|Required '(?P<required>[\w./]+)' permission for '(?P<of>[^']+)'"
        r"|does not have (?P<bucket>storage\.[\w.]+) access|requires? (?P<other>[a-z]+\.[a-zA-Z]+\.[a-zA-Z]+) permission",
        "you lack {permission} on {resource}",
        "grant a role that has {permission}; a role that was granted just now takes some minutes: accelform doctor --cloud asks for "
        "every one of a stack",
        IAM_PAGE,
        more=lambda words, said: {
            **_first("permission", "required", "bucket", "other")(words, said),
            **_first("resource", "of")(words, said),
        },
    ),
    # Budgets
    _known(
        "budget-topic",
        r"Budget.{0,200}pubsub\.topics\.setIamPolicy",
        "who makes a budget with a topic must be allowed to set the topic's policy, and you are not",
        "grant roles/pubsub.admin on the topic: an owner has it, an editor has not",
        "https://cloud.google.com/billing/docs/how-to/budgets-programmatic-notifications, read 2026-11",
    ),
    _known(
        "budget",
        r"Budget\b.{0,300}Error 400.{0,40}invalid argument|billingbudgets.{0,300}Error 400.{0,40}invalid argument",
        "the billing account refused a budget and said no reason. It does so for: a currency that is not the account's; a project of "
        "another "
        "billing account, or written by its id, not its number; an amount in another form than units and nanos; a topic whose policy "
        "you may not set (pubsub.topics.setIamPolicy, which an editor lacks)",
        "accelform doctor --cloud compares the account, its currency and your permissions with the stack's budgets",
        "https://cloud.google.com/billing/docs/how-to/budget-api, and provider issues 12196, 14648 and 24637, read 2026-11",
        allowed="amount in the account's own currency; the project's number; a topic that you own",
    ),
    # Quota and capacity
    _known(
        "reserved-words",
        r"Insufficient reserved capacity",
        "there is no on-demand capacity for {machine} in {place} now: the service says so in the words of a reservation, and none was "
        "asked for",
        f"it is not about your file: try spot, flex-start or a reservation of your own; {STOCK_FIX}",
        "https://cloud.google.com/tpu/docs/consumption-options, read 2026-11",
        allowed="{zones}",
        more=_elsewhere,
    ),
    _known(
        "stockout",
        r"does not have enough resources available|no more capacity in the zone|VM instance.{0,120}is currently unavailable in the"
        r"|ZONE_RESOURCE_POOL_EXHAUSTED|GCE_STOCKOUT|GCE out of resources|Resources are insufficient in region",
        "{place} has no capacity for {machine} now",
        STOCK_FIX,
        STOCK_PAGE,
        allowed="{zones}",
        more=_elsewhere,
    ),
    _known(
        "too-fast",
        r"Quota exceeded for quota metric '(?P<quota>[^']+)' and limit '[^']*per minute[^']*'|rateLimitExceeded|Rate Limit Exceeded",
        "too many calls in one minute: {quota}",
        "wait a minute and run the same again: what was made stays",
        QUOTA_PAGE,
    ),
    _known(
        "quota",
        r"Quota '?(?P<quota>[\w./-]+)'? exceeded\.? *(?:Limit: (?P<limit>[\d.]+))?"
        r"(?: in (?:region|zone) (?P<place>[\w-]+)| (?P<all>globally))?"
        r"|Quota limit '(?P<tpu>[^']+)' has been exceeded\. *Limit: (?P<tpu_limit>[\d.]+)(?: in (?:region|zone) (?P<tpu_place>[\w-]+))?"
        r"|exceed quota limits: (?P<vertex>[\w./-]+)"
        r'|quota to satisfy request: resource "(?P<gke>\w+)": request requires \'(?P<wants>[\d.]+)\''
        r"|Quota exceeded for quota metric '(?P<metric>[^']+)'|GCE_QUOTA_EXCEEDED|GCE quota exceeded|QUOTA_EXCEEDED|Quota exceeded",
        "the quota {quota} is used up: limit {limit}, {place}",
        QUOTA_FIX,
        QUOTA_PAGE,
        more=_quota,
    ),
    _known(
        "no-reservation",
        r"Specified reservations? \[?(?P<name>[^\]\s]+)\]? do(?:es)? not exist",
        "there is no reservation {name} that this project may use",
        "gcloud compute reservations list; one of another project is named projects/OWNER/reservations/NAME, and must be shared with "
        "this one",
        "https://cloud.google.com/compute/docs/instances/reservations-shared, read 2026-11",
    ),
    _known(
        "not-sold-there",
        r"accelerator (?:type )?'?\"?(?P<machine>[\w-]+)'?\"? was not found in zone '?\"?(?P<place>[\w-]+)",
        "{place} has no {machine} for this project",
        "{ask}",
        "https://cloud.google.com/tpu/docs/regions-zones, read 2026-11",
        allowed="{zones}",
        more=_elsewhere,
    ),
    # What is there already, or still, or no more
    _known(
        "name-reserved",
        r"existing role with that role_id in a deleted state|soft[- ]deleted|in a deleted state|pending deletion|DELETE_REQUESTED",
        "something of this name was deleted, and Google keeps the name for a while",
        "bring it back and import it (gcloud ... undelete, pulumi import), or take another name: custom roles and identity pools keep "
        "theirs for 30 "
        "days and more, key rings for ever",
        "https://cloud.google.com/iam/docs/creating-custom-roles#deleting-custom-role, read 2026-11",
    ),
    _known(
        "bucket-name",
        r"requested bucket name is not available|bucket namespace is shared by all users",
        "a bucket of this name is somebody else's: bucket names are one namespace for all of Google Cloud",
        "take another name of the stack: bucket names begin with the project's id and the stack's name",
        "https://cloud.google.com/storage/docs/buckets#naming, read 2026-11",
    ),
    _known(
        "policy-changed",
        r"concurrent policy changes|fingerprint (?:either )?(?:is )?invalid|labels fingerprint|Invalid fingerprint"
        r"|etag (?:provided )?(?:is |does not )?(?:out of date|match|mismatch)",
        "somebody else changed the same thing in between",
        "run the same again; where it comes again, look who else writes it: accelform status",
        "https://cloud.google.com/iam/docs/allow-policies#etag, read 2026-11",
    ),
    _known(
        "exists",
        r"Error 409.{0,240}?(?:already exists|alreadyExists|already own it)|Requested entity already exists|ALREADY_EXISTS"
        r"|code = AlreadyExists|Already exists: ",
        "this is there already: another stack made it, a person did, or a killed run of this one",
        "a killed run: accelform recover; else have the stack take it over: pulumi import TYPE NAME ID; or delete it, or name the stack "
        "otherwise. Where "
        "a resource was moved in the program, an alias says what it was called",
        "https://www.pulumi.com/docs/iac/adopting-pulumi/import/, read 2026-11",
    ),
    _known(
        "deletion-protection",
        r"deletion_?protection is set to true|protected against deletion|deletionProtection",
        "it is protected against deletion in Google Cloud",
        "in the stack file `environment: dev` protects nothing; for one cluster or machine, set its protection off, update, then destroy",
        "https://cloud.google.com/compute/docs/instances/preventing-accidental-vm-deletion, read 2026-11",
    ),
    _known(
        "in-use",
        r"The (?P<resource>[\w-]+) resource '(?P<name>[^']+)' is already being used by '(?P<user>[^']+)'|resourceInUseByAnotherResource"
        r"|RESOURCE_IN_USE",
        "{name} is still used by {user}",
        "wait some minutes and run the same again: endpoint groups and addresses of a cluster go after it; else delete {user}, which no "
        "stack made",
        "https://cloud.google.com/vpc/docs/create-modify-vpc-networks#deleting_a_network, read 2026-11",
    ),
    _known(
        "referenced",
        r"still being referenced by: \"?(?P<user>[\w/.-]+)|still used in an alerting policy",
        "an alert policy still names it",
        "run the same again once the policy is changed: accelform up changes it first; where the policy is not of this stack, take it "
        "out there",
        "provider issues 10337 and 13179, read 2026-11",
    ),
    _known(
        "not-empty",
        r"bucket you tried to delete is not empty|bucket .{0,80}(?:is not empty|containing objects without `?force_?destroy)",
        "the bucket holds data, and goes only when it is empty",
        "copy what is needed and empty it; `environment: dev` takes data away with the bucket; accelform down does so in the sandbox",
        "https://cloud.google.com/storage/docs/deleting-buckets, read 2026-11",
    ),
    _known(
        "models-deployed",
        r"has deployed or being[- ]deployed|DeployedModel\(s\)|model .{0,160}(?:is|still) deployed",
        "models are deployed there still, also those without traffic",
        "undeploy each of them first: accelform down, or pulumi destroy, does so for a stack's own; wait a minute after it: it is let go "
        "later",
        "https://cloud.google.com/vertex-ai/docs/general/undeploy-model, read 2026-11",
    ),
    _known(
        "traffic-split",
        r"DeployedModel ID\(s\) \[?[\d, ]+\]? do(?:es)? not exist|traffic.?split.{0,120}(?:100|sum)|remaining traffic split",
        "the shares of the endpoint's traffic are not 100 in all, or name a model that is not deployed there",
        "write shares of the models that stay under `deployed_models`, 100 in all: accelform explain endpoints.deployed_models.traffic",
        "https://cloud.google.com/vertex-ai/docs/general/deployment, read 2026-11",
        allowed="whole percent, 100 together; of models that are deployed",
    ),
    _known(
        "request-in-use",
        r"queued ?resource.{0,160}(?:force|ACTIVE|PROVISIONING|WAITING_FOR_RESOURCES|cannot be deleted|not in a deletable state)",
        "a request in the queue goes only when its nodes are gone, or in the states ACCEPTED, FAILED and SUSPENDED",
        "accelform down deletes the node first; by hand: gcloud compute tpus queued-resources delete NAME --force; dead ones: accelform "
        "queue --remove-dead",
        "https://cloud.google.com/tpu/docs/reference/rest/v2/projects.locations.queuedResources/delete, read 2026-11",
    ),
    _known(
        "gone",
        r"Error (?:reading|updating|deleting|when reading or editing)\b.{0,300}Error 404|Error 404.{0,300}not ?found",
        "it is not there: somebody deleted it, or another account looks for it",
        "with the stack's own account and project: accelform status; where it is gone for good, pulumi refresh takes note of it",
        "https://www.pulumi.com/docs/iac/cli/commands/pulumi_refresh/, read 2026-11",
    ),
    _known(
        "precondition",
        r"Error 412|conditionNotMet|Precondition (?:check )?failed",
        "it changed between the look and the call, or is not in a state in which it can be changed",
        "run the same again; where it comes again: accelform status",
        "https://cloud.google.com/apis/design/errors, read 2026-11",
    ),
    _known(
        "forbidden",
        r"Error 403|PERMISSION_DENIED|caller does not have permission",
        "you may not do this, or it is not in a project of yours",
        "accelform doctor --cloud asks for every permission of a stack; a role that was granted just now takes some minutes",
        IAM_PAGE,
    ),
    _known(
        "passing",
        r"Error 50[0234]|service is currently unavailable|\bUNAVAILABLE\b|backendError",
        "Google's API does not answer well for the moment",
        "run the same again in some minutes: what was made stays; https://status.cloud.google.com says whether more is wrong",
        "https://cloud.google.com/apis/design/errors, read 2026-11",
    ),
)
"""Every kind that is known."""
