"""The routes of a server: predictions and health at the paths that Vertex AI names, and plain paths for everybody else."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from workloads.contract import ServeSettings
from workloads.serving import body
from workloads.serving.body import BodyError
from workloads.serving.clicks import ClickLog
from workloads.serving.engine import Engine, InstanceError, ParametersError
from workloads.serving.metrics import Metrics
from workloads.serving.state import State

LIVE_ROUTE, READY_ROUTE, METRICS_ROUTE, CLICKS_ROUTE = "/healthz", "/readyz", "/metrics", "/clicks"
VARIANT_HEADER, VERSION_HEADER = "x-model-variant", "x-model-version"
_log = logging.getLogger("workloads.serving")

Handler = Callable[[Request], Awaitable[Response]]


class App:
    """The handlers, and what they share."""

    def __init__(self, settings: ServeSettings, state: State, metrics: Metrics, clicks: ClickLog) -> None:
        self._settings, self._state, self._metrics, self._clicks = settings, state, metrics, clicks
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="predict")
        self._in_flight = 0
        self._routes: dict[tuple[str, str], Handler] = {
            ("GET", LIVE_ROUTE): self._live,
            ("GET", READY_ROUTE): self._ready,
            ("GET", METRICS_ROUTE): self._measured,
            ("POST", CLICKS_ROUTE): self._clicked,
            # Last: a machine that names a path of ours for its own means its own.
            ("GET", unquote(settings.health_route)): self._ready,
            ("POST", unquote(settings.predict_route)): self._predicted,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, as uvicorn hands it over."""
        await (await self._answer(Request(scope, receive)))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        # Routes of Vertex AI have a colon in them and more: they are compared as text, not as a pattern.
        path = request.scope["path"]
        method = "GET" if request.method == "HEAD" else request.method
        handler = self._routes.get((method, path))
        if handler is not None:
            return await handler(request)
        if allowed := [one for one, route in self._routes if route == path]:
            return error(405, f"{path} is asked by {' or '.join(allowed)}", headers={"allow": ", ".join(allowed)})
        return error(404, f"nothing is at {path[:80]}; predictions are at {self._settings.predict_route}")

    async def _live(self, _: Request) -> Response:
        return PlainTextResponse("alive\n")

    async def _ready(self, _: Request) -> Response:
        return PlainTextResponse(f"{self._state.word}\n", 200 if self._state.ready else 503)

    async def _measured(self, _: Request) -> Response:
        self._metrics.ready.set(self._state.ready)
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _predicted(self, request: Request) -> Response:
        began = time.perf_counter()
        if self._in_flight >= self._settings.max_in_flight:
            answer = error(429, f"{self._in_flight} requests are in flight", headers={"retry-after": "1"})
        else:
            self._in_flight += 1
            self._metrics.in_flight.set(self._in_flight)
            try:
                answer = await self._predict(request)
            finally:
                self._in_flight -= 1
                self._metrics.in_flight.set(self._in_flight)
        self._metrics.answered(answer.status_code, time.perf_counter() - began)
        return self._labelled(answer)

    async def _predict(self, request: Request) -> Response:
        engine = self._state.engine
        if engine is None:
            return error(503, "the model is being loaded", headers={"retry-after": "1"})
        try:
            asked = body.request(await body.read(request.stream(), self._settings.max_request_bytes), self._settings.max_instances)
            answers = await asyncio.get_running_loop().run_in_executor(self._threads, self._answers, engine, asked)
            # In here: what JSON cannot carry, such as NaN, is a prediction that failed.
            return JSONResponse({"predictions": [_refusal(one) if isinstance(one, InstanceError) else one for one in answers]})
        except BodyError as wrong:
            return error(wrong.code, str(wrong))
        except ParametersError as wrong:
            return error(400, f"`parameters`: {wrong}")
        except ClientDisconnect:
            return error(499, "the client went away")
        except Exception:
            _log.exception("a prediction failed")
            return error(500, "the prediction failed; the server's log says why")

    def _answers(self, engine: Engine, asked: body.Body) -> list[object]:
        """
        Answers of the instances, in their order.

        One of the form `{"click": {...}}` is a report: through Vertex AI there is no other route than this.
        """
        answers: list[object] = [None] * len(asked.instances)
        reports = [place for place, one in enumerate(asked.instances) if isinstance(one, dict) and set(one) == {"click"}]
        if reports:
            problems = self._logged([asked.instances[place]["click"] for place in reports])  # type: ignore[index]
            for index, place in enumerate(reports):
                answers[place] = InstanceError(problems[index]) if index in problems else {"logged": True}
        others = [place for place, answer in enumerate(answers) if answer is None]
        for place, answer in zip(others, engine.predict([asked.instances[place] for place in others], asked.parameters), strict=True):
            answers[place] = answer
        refused = sum(isinstance(answers[place], InstanceError) for place in others)
        self._metrics.predicted(len(others) - refused, refused)
        return answers

    def _logged(self, reports: list[object]) -> dict[int, str]:
        problems = self._clicks.write(reports, {"variant": self._metrics.variant, "version": self._metrics.version})
        self._metrics.clicked(len(reports) - len(problems), len(problems))
        return problems

    async def _clicked(self, request: Request) -> Response:
        try:
            found = body.parsed(await body.read(request.stream(), self._settings.max_request_bytes))
            reports = found.get("clicks") if isinstance(found, dict) else None
            if not isinstance(reports, list):
                raise BodyError(400, "wanted is an object with a list `clicks`")
            problems = await asyncio.get_running_loop().run_in_executor(None, self._logged, reports)
        except BodyError as wrong:
            return error(wrong.code, str(wrong))
        except ClientDisconnect:
            return error(499, "the client went away")
        except OSError:
            _log.exception("clicks could not be logged")
            return error(500, "the clicks could not be logged; the server's log says why")
        refused = [{"index": place, "message": message} for place, message in problems.items()]
        return self._labelled(JSONResponse({"logged": len(reports) - len(problems), "refused": refused}))

    def _labelled(self, answer: Response) -> Response:
        answer.headers[VARIANT_HEADER] = self._metrics.variant
        answer.headers[VERSION_HEADER] = self._metrics.version
        if self._state.draining:
            # So that the next request of this client goes to a server that stays.
            answer.headers["connection"] = "close"
        return answer

    def close(self) -> None:
        """Ends the threads. What they still compute is wanted by nobody."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def error(code: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """An answer that says what is wrong."""
    return JSONResponse({"error": {"code": code, "message": message}}, code, headers)


def _refusal(problem: InstanceError) -> dict[str, object]:
    """What stands in the place of an answer."""
    return {"error": {"code": 400, "message": str(problem)}}
