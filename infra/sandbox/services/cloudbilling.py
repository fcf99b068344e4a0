"""Cloud Billing: accounts, and which one pays for a project."""

from __future__ import annotations

import re
from typing import Any

from infra.sandbox import lists, policies
from infra.sandbox.operations import LongRunning
from infra.sandbox.projects import ACCOUNT, BILLING
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.service import Body, Call, Handler, Service

NAME = re.compile(r"billingAccounts/[0-9A-Z]{6}-[0-9A-Z]{6}-[0-9A-Z]{6}")
"""Every account of this form is there, and open: the sandbox has nobody to pay. Only its own is listed."""


def account(call: Call, name: str) -> Body:
    """
    An account as it is answered. Fields: recorded, 2026-08.

    Raises:
        Refused: Its name is none.
    """
    if not NAME.fullmatch(name):
        raise Refused(403, "The caller does not have permission")
    return {
        "name": name,
        "open": True,
        "displayName": "Sandbox",
        "masterBillingAccount": "",
        "parent": "",
        "currencyCode": call.cloud.projects.currency,
    }


def get(call: Call) -> Any:
    return account(call, call.owner)


def list_(call: Call) -> Any:
    return {"nextPageToken": ""} | lists.answer(call, [ACCOUNT], lambda name: account(call, name))


def projects(call: Call) -> Any:
    """Projects that an account pays for."""
    account(call, call.owner)
    infos = [call.cloud.store.get(BILLING, f"projects/{project}/billingInfo") or {} for project in call.cloud.projects.all()]
    paid = [info for info in infos if info.get("billingAccountName") == call.owner]
    return {"projectBillingInfo": [], "nextPageToken": ""} | lists.answer(call, paid, lambda info: info)


def info(call: Call) -> Any:
    found = call.cloud.store.get(BILLING, f"projects/{call.project}/billingInfo")
    return found or call.cloud.projects.bill(call.project, "")


def set_info(call: Call) -> Any:
    """PUT: `{billingAccountName}`; empty takes billing away."""
    name = call.body.get("billingAccountName", "")
    if name and not NAME.fullmatch(name):
        raise invalid("Request contains an invalid argument.")
    return call.cloud.projects.bill(call.project, name)


def with_account(verb: Handler) -> Handler:
    """A verb on the policy of an account, which must be one."""

    def checked(call: Call) -> Any:
        account(call, call.owner)
        return verb(call)

    return checked


SERVICE = Service(
    host=BILLING,
    apis=("cloudbilling.v1",),
    operations=LongRunning(),
    handlers={
        "billingAccounts.get": get,
        "billingAccounts.list": list_,
        "billingAccounts.projects.list": projects,
        "billingAccounts.getIamPolicy": with_account(policies.get),
        "billingAccounts.setIamPolicy": with_account(policies.set_),
        "billingAccounts.testIamPermissions": with_account(policies.test_permissions),
        "projects.getBillingInfo": info,
        "projects.updateBillingInfo": set_info,
    },
    keeps_empty=True,
)
