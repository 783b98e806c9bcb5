"""Reasons of SLURM to reject, delay or end a job: their meanings, and remedies."""

import re

NODE = "lower cores, or mem_mb under resources, in the profile: no job may request more than a node has"
PARTITION = "set slurm_partition in the profile, under default-resources and set-resources"
TIME = "give the rule less runtime, by set-resources in the profile, or a partition that allows it"
ACCOUNT = "set slurm_account under default-resources in the profile"
SERVICE = "set slurm-qos in the profile"
REFUSALS = (
    ("node configuration", NODE),
    ("memory specification", NODE),
    ("cpu count", NODE),
    ("processors", NODE),
    ("partition name", PARTITION),
    ("partition specified", PARTITION),
    ("time limit", TIME),
    ("account", ACCOUNT),
    ("gres", "set gpu: 0 for the rule, by set-resources in the profile, or a partition with GPUs"),
    ("qos", SERVICE),
)
"""Part of the message of ``sbatch`` in lower case, and a hint; the first match counts."""
ORDINARY = ("None", "Priority", "Resources", "Dependency", "BeginTime", "JobArrayTaskLimit", "Prolog", "Cleaning")
"""Reasons of jobs that will start without a change."""
WAITS = (
    ("PartitionTimeLimit", "it will never start: its runtime is more than its partition allows", TIME),
    ("PartitionNodeLimit", "it will never start: its partition allows no job that many nodes", PARTITION),
    ("PartitionConfig", "it will never start: it requests more than its partition has", NODE),
    ("PartitionDown", "its partition accepts no jobs now", PARTITION),
    ("PartitionInactive", "its partition accepts no jobs now", PARTITION),
    ("BadConstraints", "it will never start: no node has all that it requests", NODE),
    ("ReqNodeNotAvail", "the nodes that it could run on are down, drained or reserved", "sinfo shows them"),
    ("NodeDown", "the nodes that it could run on are down", "sinfo shows them"),
    ("InvalidAccount", "it will never start", ACCOUNT),
    ("AccountNotAllowed", "it will never start: its partition does not accept this account", ACCOUNT),
    ("InvalidQOS", "it will never start", SERVICE),
    ("QOSNotAllowed", "it will never start: its partition does not accept this quality of service", SERVICE),
    ("DependencyNeverSatisfied", "it will never start", "cancel it with scancel"),
    ("JobHeld", "it is held", "release it with scontrol release"),
    ("launch failed", "its node could not start it, and it is held", "release it with scontrol release"),
    ("MaxWallDurationPerJob", "it will never start: its runtime is more than you may request", TIME),
    ("PerJob", "it will never start: it requests more than one job of yours may have", NODE),
    ("MinCpu", "it will never start: it requests less than a job must have", NODE),
    ("Assoc", "your account's limit is reached; it starts when other jobs have ended", ""),
    ("QOS", "the quality of service's limit is reached; it starts when other jobs have ended", ""),
    ("Licenses", "the licences that it requests are in use", ""),
)
"""Part of the reason that ``squeue`` shows, its meaning, and a hint; the first match counts."""
ENDS = {
    "OUT_OF_MEMORY": "was killed for memory",
    "TIMEOUT": "was killed for time",
    "DEADLINE": "was killed at its deadline",
    "NODE_FAIL": "was lost with its node",
    "BOOT_FAIL": "was lost because its node did not start",
    "PREEMPTED": "was stopped for a job that goes first",
    "CANCELLED": "was cancelled",
}
"""States of jobs that SLURM ended. If a job has several, the first one here is the cause of the others."""


def meaning_of(reason: str) -> str:
    """Return the meaning of a reason to wait, with a hint; empty if the job will start without a change."""
    if not reason or reason.strip("()").partition(",")[0] in ORDINARY:
        return ""
    for part, meaning, hint in WAITS:
        if part in reason:
            return f"{reason}: {meaning}; {hint}" if hint else f"{reason}: {meaning}"
    return reason


def one_line(text: str) -> str:
    """Return the messages of a SLURM command without their prefixes, in one line."""
    messages = [re.sub(r"^\w+: (error|fatal): ", "", line.strip()) for line in text.splitlines()]
    return "; ".join(line.removeprefix("Batch job submission failed: ") for line in messages if line)
