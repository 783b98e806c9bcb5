# The workflow, from corpus and configuration to report: snakemake --cores 2 [--configfile experiments/mine.yaml]
from snakemake.utils import min_version

from tokbench.stage import stages
from tokbench.workflow.shell import rule_files

min_version("9.14")


if not workflow.configfiles:

    configfile: "config.yaml"


# Built from envs/container.def; used with --software-deployment-method apptainer.
container: "tokbench.sif"


# Defines what all other files use: experiment, records, code, and functions of resources.
include: "rules/common.smk"


pathvars:
    results=experiment.folder,
    logs=f"{experiment.folder}/logs",
    benchmarks=f"{experiment.folder}/benchmarks",


report: "report/workflow.rst"


for name in rule_files():

    include: f"rules/{name}"


# The results that tables read are targets, too, so that a folder that was deleted is built again.
rule all:
    default_target: True
    input:
        stages.targets(experiment),
