# Definitions shared by all rules: the experiment, resources, fingerprints of code, and the shell.
from tokbench.workflow.environments import commands_of_language_models
from tokbench.workflow.resources import content_of
from tokbench.workflow.job_records import JobRecords
from tokbench.workflow.resources import double_on_retry, extend_on_retry
from tokbench.workflow.run import on_end, on_start, read_experiment
from tokbench.workflow.stage_code import StageCode
from tokbench.workflow.shell import checkpoints_in, flags, has_environments, shell_prefix, trusted_functions

experiment = read_experiment(workflow, config)
code = StageCode(experiment)
records = JobRecords(workflow, rules, experiment)
shell.prefix(
    shell_prefix(
        separate=has_environments(workflow),
        models=commands_of_language_models(experiment),
        trusted=trusted_functions(experiment),
    )
)


# Called once per run, by the process that submits the jobs; not in a dry run.
onstart:
    on_start(workflow, log)


onsuccess:
    on_end(workflow)


onerror:
    on_end(workflow)


# Inputs that are the files of the user are local(...): results may be in a storage, these are read where they are.
wildcard_constraints:
    corpus="|".join(experiment.corpora),
    on="|".join(experiment.corpora),
    parallel=r"[\w-]+",
    split="tokenizer|evaluation",
    scheme=r"\w+",
    resource=r"[\w-]+",
    shard=r"\d{4}",
    part=r"\d{4}",
    group=r"\d{4}",
    slice=r"\d{4}",
    byte_lm=r"[\w-]+",
    initial=r"\w+",
    initial_recipe=r"\w+-[0-9a-f]{12}",
    variant="|".join(experiment.variants),
    target_variant="|".join(experiment.variants),
    source=r"[\w-]+",
    target=r"[\w-]+",
    test=r"[\w-]+",
    size=r"\d+|own",
    length=r"\d+",
    share=r"0\.\d+",
    model=r"[\w-]+",
    suite=r"[\w-]+",
    digest="[0-9a-f]{16}",
    stage="tabulate|analyse|report",
