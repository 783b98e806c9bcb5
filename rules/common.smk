# What all rules share: the experiment, fingerprints of the code behind a method, and the shell.
import sys

from snakemake.settings.types import DeploymentMethod

from tokbench.workflow.resources import double_on_retry, extend_on_retry
from tokbench.workflow.contents import content_of
from tokbench.workflow.shell import flags, shell_prefix, verbatim
from tokbench.workflow.fingerprint import fingerprint
from tokbench.config.load import read_all
from tokbench.workflow.run import begin, end
from tokbench.faults import line_and_status

try:
    experiment = read_all(workflow.configfiles, workflow.config_settings.config)
except Exception as error:
    sys.exit(line_and_status(error)[0])

apart = {DeploymentMethod.CONDA, DeploymentMethod.APPTAINER} & set(workflow.deployment_settings.deployment_method)
shell.prefix(shell_prefix(apart=bool(apart)))


# Only the process that hands out the jobs comes to these, and no dry run does.
onstart:
    begin(workflow, log)


onsuccess:
    end(workflow)


onerror:
    end(workflow)


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
