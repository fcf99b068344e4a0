"""Which of several workers a process is, by what each platform tells it."""

from __future__ import annotations

import json

import pytest

from workloads import workers
from workloads.contract import ContractError, TrainSettings

POOLS = {"workerpool0": ["a:2222"], "workerpool1": ["b:2222", "c:2222"]}


def cluster(pool: str, index: int) -> str:
    """As Google's page on distributed training has it."""
    return json.dumps({"cluster": POOLS, "environment": "cloud", "task": {"type": pool, "index": index, "trial": ""}})


def mine(hosts: int, **environment: str) -> int:
    return workers.mine(
        TrainSettings("r", "out", "ck", "cpu", hosts, hosts, process_id=int(environment.get("WL_PROCESS_ID", 0))), environment
    )


@pytest.mark.parametrize(
    ("hosts", "environment", "index"),
    [
        (1, {}, 0),
        (3, {"WL_PROCESS_ID": "2"}, 2),
        (3, {"WL_PROCESS_ID": "0", "JOB_COMPLETION_INDEX": "2"}, 0),
        (3, {"CLUSTER_SPEC": cluster("workerpool0", 0)}, 0),
        (3, {"CLUSTER_SPEC": cluster("workerpool1", 0)}, 1),
        (3, {"CLUSTER_SPEC": cluster("workerpool1", 1)}, 2),
        (4, {"JOB_COMPLETION_INDEX": "3"}, 3),
        (4, {"BATCH_TASK_INDEX": "1", "BATCH_TASK_COUNT": "4"}, 1),
        (4, {"CLOUD_RUN_TASK_INDEX": "0", "CLOUD_RUN_TASK_COUNT": "4"}, 0),
        (1, {"CLOUD_RUN_TASK_INDEX": "0", "CLOUD_RUN_TASK_COUNT": "1"}, 0),
    ],
)
def test_each_platform_says_which(hosts: int, environment: dict[str, str], index: int) -> None:
    """And the contract's own variable before any."""
    assert mine(hosts, **environment) == index


@pytest.mark.parametrize(
    ("hosts", "environment", "said"),
    [
        (2, {}, "WL_HOSTS=2, and nothing says which of them this is: one of WL_PROCESS_ID, CLUSTER_SPEC, JOB_COMPLETION_INDEX"),
        (2, {"CLUSTER_SPEC": cluster("workerpool1", 1)}, "CLUSTER_SPEC is of 3 workers, and WL_HOSTS=2"),
        (1, {"CLOUD_RUN_TASK_INDEX": "0", "CLOUD_RUN_TASK_COUNT": "4"}, "CLOUD_RUN_TASK_INDEX is of 4 workers, and WL_HOSTS=1"),
        (2, {"JOB_COMPLETION_INDEX": "2"}, "JOB_COMPLETION_INDEX says worker 2: less than WL_HOSTS=2"),
        (2, {"WL_PROCESS_ID": "2"}, "WL_PROCESS_ID says worker 2"),
        (2, {"JOB_COMPLETION_INDEX": "-1"}, "JOB_COMPLETION_INDEX='-1' is no whole number"),
        (2, {"BATCH_TASK_INDEX": "1", "BATCH_TASK_COUNT": "٢"}, "BATCH_TASK_COUNT='٢' is no whole number"),
        (3, {"CLUSTER_SPEC": cluster("workerpool2", 0)}, "is no cluster of Vertex AI's with a task of it"),
        (3, {"CLUSTER_SPEC": cluster("workerpool1", 2)}, "is no cluster"),
        (3, {"CLUSTER_SPEC": "[]"}, "is no cluster"),
        (3, {"CLUSTER_SPEC": "{"}, "is no cluster"),
        (3, {"CLUSTER_SPEC": '{"cluster": {"workerpool0": 1}}'}, "is no cluster"),
    ],
)
def test_two_workers_are_never_the_same(hosts: int, environment: dict[str, str], said: str) -> None:
    """What does not go together is refused: shards that are nobody's would be missed by nobody."""
    with pytest.raises(ContractError) as refused:
        mine(hosts, **environment)
    assert said in str(refused.value)
