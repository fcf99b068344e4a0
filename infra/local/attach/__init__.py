"""
The hands of the sandbox: its machines, executions and deployed models run nothing by themselves, so local processes run for them.

    with Attached(base) as attached:
        attached.step()    # again and again; `attached.run(once=True)` does it until nothing is left to do
"""

from infra.local.attach.loop import Attached

__all__ = ["Attached"]
