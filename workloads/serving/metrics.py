"""What a server counts, in Prometheus' form. Each figure carries the variant and the version, so that two can be compared."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_LABELS = ("variant", "version")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
_INSTANCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The figures of one server."""

    def __init__(self, variant: str, version: str) -> None:
        self.registry = CollectorRegistry()
        self.variant, self.version = variant, version
        self._requests = Counter(
            "wl_requests", "Requests for predictions, by the code of the answer.", (*_LABELS, "code"), registry=self.registry
        )
        self._seconds = Histogram(
            "wl_request_seconds", "From a request's first byte to its answer.", _LABELS, buckets=_SECONDS, registry=self.registry
        )
        self._instances = Counter("wl_instances", "Instances, answered or refused.", (*_LABELS, "result"), registry=self.registry)
        self._batch = Histogram("wl_request_instances", "Instances of a request.", _LABELS, buckets=_INSTANCES, registry=self.registry)
        self._clicks = Counter("wl_clicks", "Clicks that were logged, or refused.", (*_LABELS, "result"), registry=self.registry)
        self.in_flight = Gauge("wl_in_flight", "Requests for predictions that are being answered.", registry=self.registry)
        self.ready = Gauge("wl_ready", "1 where this server should get requests.", registry=self.registry)
        self.load_seconds = Gauge(
            "wl_load_seconds", "How long fetching, checking, loading and warming the model took.", registry=self.registry
        )

    def answered(self, code: int, seconds: float) -> None:
        """Counts a request."""
        self._requests.labels(self.variant, self.version, str(code)).inc()
        self._seconds.labels(self.variant, self.version).observe(seconds)

    def predicted(self, answered: int, refused: int) -> None:
        """Counts the instances of a request."""
        self._batch.labels(self.variant, self.version).observe(answered + refused)
        for result, count in (("answered", answered), ("refused", refused)):
            if count:
                self._instances.labels(self.variant, self.version, result).inc(count)

    def clicked(self, logged: int, refused: int) -> None:
        """Counts clicks."""
        for result, count in (("logged", logged), ("refused", refused)):
            if count:
                self._clicks.labels(self.variant, self.version, result).inc(count)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)
