"""What a name that people use stands for."""

from __future__ import annotations

from infra.catalog.accelerator import accelerators
from infra.catalog.gpu import Gpu, UnknownGpu, gpu, gpus
from infra.catalog.gpu import wrong_names as wrong_gpus
from infra.catalog.gpu_machines import GpuMachine, attachments, machines, n1_size
from infra.catalog.tpu import TpuShape, UnknownAcceleratorType, shape, shapes, single_hosts
from infra.catalog.tpu import wrong_names as wrong_slices
from infra.catalog.unknown import NoMatch
from infra.errors import nearest


class UnknownName(NoMatch):
    """A name that stands for no one accelerator or machine with accelerators."""


def resolve(name: str) -> TpuShape | GpuMachine | Gpu:
    """
    What a name stands for: an accelerator type, a GPU, a machine type, or a wrong name often seen that means one of them.

    Raises:
        UnknownName: It stands for none, or for several.
    """
    word = name.strip().lower()
    if word in machines():
        return machines()[word]
    try:
        return shape(name)
    except UnknownAcceleratorType as error:
        slices = error
    try:
        return gpu(name)
    except UnknownGpu as error:
        cards = error
    if several := _slices_of(word):
        raise UnknownName(name, "is a TPU without a size", several)
    if slices.right:
        return shape(slices.right)
    if cards.right:
        return gpu(cards.right)
    if n1_size(word):
        attached = dict.fromkeys(one.accelerator_type for one in attachments())
        raise UnknownName(name, "has no accelerator built in; GPUs are attached to it", attached)
    if word in wrong_gpus():
        raise UnknownName(name, "may be any of several GPUs", cards.nearest)
    if word in wrong_slices():
        raise UnknownName(name, "may be any of several TPU slices", slices.nearest)
    close = nearest(word.replace("_", "-"), [*shapes(), *single_hosts(), *gpus(), *machines()], 5)
    raise UnknownName(name, "is no accelerator and no machine type with accelerators", close)


def _slices_of(word: str) -> tuple[str, ...]:
    """Slices of one host, for a name that says a TPU but not how much of it."""
    sold = {one.name for one in accelerators().values() if one.is_tpu and word and word in (one.name, one.gke_label, one.tpu_api)}
    return tuple(name for name, one in shapes().items() if one.single_host and (one.sold_as in sold or one.generation == word))
