"""
Runs the app, and ends it so that no request is lost.

uvicorn alone stops to listen at SIGTERM, and then ends with the signal. But whoever sends requests hears only by the health route that this
server goes, some seconds later; until then its requests would be refused. So there is a lame duck's time: health says 503, all is served.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from workloads.contract import ServeSettings
from workloads.serving.app import App
from workloads.serving.state import State

_KEEP_ALIVE_SECONDS = 620
"""Longer than the 600 seconds that Google's load balancers keep a connection to a backend, so that it is they who close it."""


class Server(uvicorn.Server):
    """A server with a lame duck's time. It ends with code 0 after a signal."""

    def __init__(self, config: uvicorn.Config, state: State, lameduck_seconds: float, started: Callable[[], None]) -> None:
        """
        Args:
            started: Called when requests are taken: it begins to load the model, and does not wait for it.
        """
        super().__init__(config)
        self._state = state
        self._lameduck_seconds = lameduck_seconds
        self._started = started
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Takes requests from here on."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self._started()

    def end(self) -> None:
        """Takes no more requests, and ends when those taken are answered."""
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first SIGTERM begins the lame duck's time; a second signal, or an interrupt by hand, cuts it short."""
        again, self._state.draining = self._state.draining, True
        if again and self.should_exit:
            self.force_exit = True
        elif again or sig == signal.SIGINT or self._state.engine is None or self._loop is None:
            self.end()
        else:
            self._loop.call_soon_threadsafe(self._loop.call_later, self._lameduck_seconds, self.end)


def listening(settings: ServeSettings) -> socket.socket:
    """
    The port, open. It is so before the model is loaded: Vertex AI tries to connect four times in 40 seconds, then begins again.

    Raises:
        OSError: It is taken, or not to be had by this user.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("0.0.0.0", settings.port))  # noqa: S104 - Vertex AI asks for all addresses
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def config(app: App, settings: ServeSettings) -> uvicorn.Config:
    """How uvicorn is run."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        # uvicorn takes whole seconds, and 0 would be none at all.
        timeout_graceful_shutdown=max(1, round(settings.drain_seconds)),
    )
