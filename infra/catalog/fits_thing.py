"""What a wish is about: the slice or machine that its names mean, or why they mean none."""

from __future__ import annotations

from infra.catalog import fits_gpu, fits_tpu, fits_vertex
from infra.catalog.gpu import gpus
from infra.catalog.gpu_machines import Attached, GpuMachine, machines, n1_size
from infra.catalog.named import UnknownName, resolve
from infra.catalog.tpu import TpuShape, shapes
from infra.catalog.vertex import VertexMachine
from infra.catalog.wish import Change, Reason, Wish
from infra.errors import nearest

Meant = TpuShape | GpuMachine | Attached | VertexMachine


def meant(wish: Wish) -> tuple[Meant | None, list[Reason]]:
    """The thing, None where the names mean none; and what is wrong with the names."""
    name, machine = wish.accelerator_type, wish.machine_type
    if name in shapes():
        return _slice(wish, shapes()[name])
    if machine in fits_tpu.machines():
        found, reasons = fits_tpu.by_machine(wish)
        if name and (found is None or name not in (found.sold_as, found.generation)):
            reasons.append(_no_field(wish))
        return found, reasons
    if name and name not in gpus() and name not in fits_vertex.plain_names():
        return None, [_no_name("accelerator_type", name)]
    if wish.api == "vertex":
        return fits_vertex.gpu(wish)
    if name in fits_vertex.plain_names():
        plain = fits_vertex.plain_names()[name]
        change: Change = (("accelerator_type", plain),)
        return None, [Reason("accelerator_type", "impossible", "is a name of Vertex AI", (plain,), "accelerators.csv", (change,))]
    if machine in machines():
        return machines()[machine], list(fits_gpu.built_in(wish, machines()[machine]))
    if not name and not machine:
        return None, [Reason("accelerator_type", "impossible", "is missing, and so is the machine type")]
    if n1_size(machine) is not None:
        if name:
            return fits_gpu.attachable(wish)
        own = tuple(one for one in gpus() if fits_gpu.attached_to(one, wish.count))
        changes: tuple[Change, ...] = tuple((("accelerator_type", one), ("count", wish.count or 1)) for one in own)
        return None, [
            Reason("accelerator_type", "impossible", f"is missing: {machine} has no GPU of its own", own, "gpu_attachments.csv", changes)
        ]
    return None, [_no_machine(wish)]


def _slice(wish: Wish, shape: TpuShape) -> tuple[TpuShape, list[Reason]]:
    if not wish.machine_type or wish.machine_type == shape.machine_type:
        return shape, []
    if fits_tpu.TWO_HOSTS.get((wish.machine_type, shape.topology)) == shape.accelerator_type:
        return fits_tpu.two_hosts(wish.machine_type, shape.topology), []
    changes: tuple[Change, ...] = ((("machine_type", ""),), (("accelerator_type", ""), ("topology", "")))
    message = f"is not the machine of {shape.accelerator_type}"
    return shape, [Reason("machine_type", "impossible", message, (shape.machine_type or "none",), shape.source, changes)]


def _no_field(wish: Wish) -> Reason:
    change: Change = (("accelerator_type", ""), ("count", None))
    message = f"is not said beside {wish.machine_type}: the machine type alone tells the TPU"
    return Reason("accelerator_type", "impossible", message, (), fits_vertex.PAGES, (change,))


def _no_machine(wish: Wish) -> Reason:
    """A machine type that takes no GPU, or is none; or a GPU without a machine."""
    name, machine = wish.accelerator_type, wish.machine_type
    if not name:
        return _no_name("machine_type", machine)
    own = fits_gpu.with_gpu(name, wish.count)[:4]
    changes: list[Change] = [(("machine_type", one), ("count", None)) for one in own]
    attached = fits_gpu.attached_to(name, wish.count)[:2]
    changes += [(("machine_type", one), ("count", wish.count or 1)) for one in attached]
    message = "is missing: a GPU stands in a machine" if not machine else f"takes no {name}"
    source = "gpu_machines.csv; gpu_attachments.csv"
    return Reason("machine_type", "impossible", message, (*own, *attached), source, tuple(changes))


def _no_name(part: str, name: str) -> Reason:
    """A name that is none, with what may be meant."""
    try:
        found = resolve(name)
    except UnknownName as error:
        close = error.nearest or tuple(nearest(name[:60], [*shapes(), *machines()]))
        return Reason(part, "impossible", error.message, close[:5], "", tuple(_as(part, one) for one in close[:5]))
    right = found.machine_type if isinstance(found, GpuMachine) else found.accelerator_type
    return Reason(part, "impossible", f"is {right}", (right,), "", (_as(part, right),))


def _as(part: str, name: str) -> Change:
    """The change that says a name in the field it belongs to."""
    if name in machines() or name in fits_tpu.machines():
        return (("accelerator_type", ""), ("machine_type", name))
    return (("accelerator_type", name), ("machine_type", "")) if part == "machine_type" else (("accelerator_type", name),)
