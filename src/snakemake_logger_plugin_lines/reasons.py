"""What SLURM's words mean to someone who keeps a profile: why a job was refused, waits and waits, or ended."""

NODE = "what one job may ask for is cores, and mem_mb under resources, in the profile: no more than a node has"
PARTITION = "set slurm_partition in the profile, under default-resources and set-resources"
TIME = "give the rule less runtime, by set-resources in the profile, or a partition that allows it"
ACCOUNT = "set slurm_account under default-resources in the profile"
SERVICE = "set slurm-qos in the profile"
CANCEL = "cancel it with scancel"

REFUSALS = (
    ("node configuration", NODE),
    ("memory specification", NODE),
    ("cpu count", NODE),
    ("processors", NODE),
    ("partition name", PARTITION),
    ("partition specified", PARTITION),
    ("time limit", TIME),
    ("account", ACCOUNT),
    ("gres", "set gpu: 0 for the rule, by set-resources in the profile, or a partition that has what it asks for"),
    ("qos", SERVICE),
)
"""A piece of what `sbatch` says, in lower case, and what to do; the first that fits."""

ORDINARY = ("None", "Priority", "Resources", "Dependency", "BeginTime", "JobArrayTaskLimit", "Prolog", "Cleaning")
"""Reasons of jobs whose turn will come by itself."""

WAITS = (
    ("PartitionTimeLimit", "it will never start: its runtime is more than its partition allows", TIME),
    ("PartitionNodeLimit", "it will never start: its partition gives no job so many nodes", PARTITION),
    ("PartitionConfig", "it will never start: it asks for more than its partition gives", NODE),
    ("PartitionDown", "its partition takes no jobs now", PARTITION),
    ("PartitionInactive", "its partition takes no jobs now", PARTITION),
    ("BadConstraints", "it will never start: no node has all that it asks for", NODE),
    ("ReqNodeNotAvail", "the nodes that it could run on are down, drained or reserved", "sinfo shows them"),
    ("NodeDown", "the nodes that it could run on are down", "sinfo shows them"),
    ("InvalidAccount", "it will never start", ACCOUNT),
    ("AccountNotAllowed", "it will never start: its partition does not take this account", ACCOUNT),
    ("InvalidQOS", "it will never start", SERVICE),
    ("QOSNotAllowed", "it will never start: its partition does not take this quality of service", SERVICE),
    ("DependencyNeverSatisfied", "it will never start", CANCEL),
    ("JobHeld", "it is held", "scontrol release lets it go"),
    ("launch failed", "its node could not start it, and it is held", "scontrol release lets it go"),
    ("MaxWallDurationPerJob", "it will never start: its runtime is more than you may ask for", TIME),
    ("PerJob", "it will never start: it asks for more than one job of yours may have", NODE),
    ("MinCpu", "it will never start: it asks for less than a job must have", NODE),
    ("Assoc", "your account's limit is reached; it starts when other jobs have ended", ""),
    ("QOS", "the quality of service's limit is reached; it starts when other jobs have ended", ""),
    ("Licenses", "licences that it asks for are in use", ""),
)
"""A piece of the reason that `squeue` shows, what it means, and what to do; the first that fits."""

ENDS = {
    "OUT_OF_MEMORY": "was killed for memory",
    "TIMEOUT": "was killed for time",
    "DEADLINE": "was killed at its deadline",
    "NODE_FAIL": "was lost with its node",
    "BOOT_FAIL": "was lost with its node, which did not start",
    "PREEMPTED": "was stopped for a job that goes first",
    "CANCELLED": "was cancelled",
}
"""How a job ended, by SLURM's state."""

KEYS = {"OUT_OF_MEMORY": "mem_mb", "TIMEOUT": "runtime"}
"""The resource that a job had too little of."""


def refusal(said: str) -> str:
    """What to do where `sbatch` says this; empty where that is not known."""
    return next((remedy for piece, remedy in REFUSALS if piece in said.lower()), "")


def wait(reason: str) -> str:
    """What a reason to wait means and what to do; empty where a job's turn will come."""
    if reason.strip("()").partition(",")[0] in ORDINARY:
        return ""
    for piece, meaning, remedy in WAITS:
        if piece in reason:
            return f"{reason}: {meaning}; {remedy}" if remedy else f"{reason}: {meaning}"
    return reason
