"""The shipped query, run over a billing export by BigQuery: first dry, to say what it reads, then with that as its limit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from infra.cost.actual.billed import Billed
from infra.errors import AccelformError, ExitCode
from infra.operate.google import LOGIN, Connect, Google, NoCredentialsError, default_connect
from infra.operate.refused import RefusedError, grant

ROWS_A_PAGE = 1000
WAIT_MS = 10_000
"""How long BigQuery holds a call before it answers that the query still runs: half of the client's own limit."""
WAITS_MAX = 30
BYTES_LEAST = 20_000_000
"""BigQuery bills 10 MB at least, for each table. Source: https://cloud.google.com/bigquery/pricing, read 2026-11."""
REPORT = "please report it, with what the API answered"


class BillingExportError(AccelformError):
    """The billing export could not be read."""

    exit_code = ExitCode.CLOUD


@dataclass(frozen=True, slots=True)
class Reader:
    """Runs the query in the project that the export's table lives in, which is charged with it."""

    google: Google
    table: str

    @classmethod
    def of(cls, table: str, connect: Connect | None = None) -> Reader:
        """
        Args:
            connect: Makes the transport. (default: over application default credentials)

        Raises:
            BillingExportError: There are no application default credentials.
        """
        # Google's client tells every user of Python 3.11 of its end in 2027.
        warnings.filterwarnings("ignore", "You are using a Python version", FutureWarning)
        payer = project_of(table)
        try:
            return cls(Google(connect or default_connect(payer)[0], payer), table)
        except NoCredentialsError as error:
            raise BillingExportError(f"there are no application default credentials: {error}\n  fix: {LOGIN}") from None

    def rows(self, query: str, parameters: Mapping[str, tuple[str, str]], say: Callable[[int], None]) -> list[Billed]:
        """
        What the query answers.

        Args:
            parameters: Names to BigQuery types and values.
            say: Is told how many bytes the query reads, before it does.

        Raises:
            BillingExportError: Google refused or did not answer, or the answer is in another shape.
        """
        body: dict[str, Any] = {
            "query": query,
            "useLegacySql": False,
            "parameterMode": "NAMED",
            "queryParameters": [
                {"name": name, "parameterType": {"type": kind}, "parameterValue": {"value": value}}
                for name, (kind, value) in parameters.items()
            ],
        }
        try:
            reads = int(self._query(body | {"dryRun": True})["totalBytesProcessed"])
            say(reads)
            return [Billed.read(row) for row in self._answer(body | self._limits(reads))]
        except RefusedError as refused:
            told = _explained(refused, self.table)
            raise BillingExportError(told.message + (f"\n  fix: {told.fix}" if told.fix else "")) from None
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            said = f"an answer of BigQuery's was not understood: {type(error).__name__}: {error}"
            raise BillingExportError(f"{said}\n  fix: {REPORT}") from None

    def _limits(self, reads: int) -> dict[str, Any]:
        """A tenth more than the dry run read: the table may grow in between. What would bill more fails, and bills nothing."""
        limit = max(reads + reads // 10, BYTES_LEAST)
        # Sent again after a fault, it is the same query and is billed once.
        return {"maximumBytesBilled": str(limit), "maxResults": ROWS_A_PAGE, "timeoutMs": WAIT_MS, "requestId": str(uuid4())}

    def _query(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self.google.call("bigquery", "v2", "jobs.query", projectId=project_of(self.table), body=dict(body))

    def _answer(self, body: Mapping[str, Any]) -> Iterator[dict[str, str | None]]:
        """Every row by column name, page by page; a query that still runs is asked for again."""
        answer = self._query(body)
        job, waits, page = answer["jobReference"], 0, ""
        while True:
            if answer.get("jobComplete"):
                names = [field["name"] for field in answer["schema"]["fields"]]
                for row in answer.get("rows", []):
                    yield dict(zip(names, (cell["v"] for cell in row["f"]), strict=True))
                page = answer.get("pageToken", "")
                if not page:
                    return
            else:
                waits += 1
                if waits > WAITS_MAX:
                    seconds = WAITS_MAX * WAIT_MS // 1000
                    raise RefusedError("unknown", f"the query still ran after {seconds} s: job {job['jobId']}", "try again")
            answer = self.google.call(
                "bigquery",
                "v2",
                "jobs.getQueryResults",
                projectId=job["projectId"],
                jobId=job["jobId"],
                location=job["location"],
                maxResults=ROWS_A_PAGE,
                timeoutMs=WAIT_MS,
                **({"pageToken": page} if page else {}),
            )


def project_of(table: str) -> str:
    """A project may have a domain before its name, with dots in it."""
    return table.rsplit(".", 2)[0]


def _explained(refused: RefusedError, table: str) -> RefusedError:
    """What refuses a table rather than a query, with what mends that."""
    if refused.status == 403 and "Access Denied: Table" in refused.message:
        return replace(refused, fix=grant(project_of(table), "roles/bigquery.dataViewer"))
    if refused.status == 404:
        return replace(refused, fix=f"see under Billing export where it is written, and what is there: bq ls {table.rpartition('.')[0]}")
    return refused
