# The workflow, from corpus and configuration to report: snakemake --cores 2 [--configfile experiments/mine.yaml]
from snakemake.utils import min_version

min_version("9.14")


if not workflow.configfiles:

    configfile: "config.yaml"


# Built from envs/container.def; used with --software-deployment-method apptainer.
container: "tokbench.sif"


include: "rules/common.smk"


pathvars:
    results=experiment.folder,
    logs=f"{experiment.folder}/logs",
    benchmarks=f"{experiment.folder}/benchmarks",


report: "report/workflow.rst"


include: "rules/corpus.smk"
include: "rules/pretokenization.smk"
include: "rules/byte_lm.smk"
include: "rules/construction.smk"
include: "rules/import.smk"
include: "rules/pretraining.smk"
include: "rules/intrinsic.smk"
include: "rules/ngram_bits.smk"
include: "rules/robustness.smk"
include: "rules/downstream.smk"
include: "rules/token_effect.smk"
include: "rules/translation.smk"
include: "rules/statistics.smk"
include: "rules/report.smk"
include: "rules/published.smk"


# The inputs of the tables are targets, too, so that a folder that was deleted is built again.
rule all:
    default_target: True
    input:
        rules.tabulate.input,
        ["<results>/power"] if experiment.statistics.pilot else [],
        "<results>/tables",
        "<results>/statistics",
        "<results>/report.html",
        "<results>/figures",
        "<results>/typeset",
        "<results>/leaderboard.json",
        "<results>/leaderboard.csv",
        "<results>/references.bib",
        [f"<results>/byte_lm/{corpus}/{name}/figures" for corpus, name in byte_lms.drawn],
