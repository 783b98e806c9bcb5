import json

from tokbench.stage import stages
from tokbench.stages.corpora import splits_made_from
from tokbench.stages.tables import pilot_tables, unit_tables


rule find_leakage:
    input:
        records.trigger("find_leakage"),
        corpus="<results>/corpus/{corpus}",
        others=collect(
            "<results>/corpus/{of}",
            of=lambda wildcards: [name for name, _ in splits_made_from(experiment, wildcards.corpus)],
        ),
    output:
        "<results>/leakage/{corpus}.json",
    log:
        "<logs>/find_leakage/{corpus}.log",
    benchmark:
        "<benchmarks>/find_leakage/{corpus}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("find_leakage"),
        splits=lambda wildcards, input: [
            f"{folder}/{split}"
            for folder, (_, split) in zip(input.others, splits_made_from(experiment, wildcards.corpus))
        ],
        code=code.of("find_leakage"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(120),
    message:
        "search other splits for evaluation text of {wildcards.corpus}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench find_leakage --memory {resources.mem_mb:q} -o {output:q}"
        " -- {input.corpus:q}/evaluation {params.splits:q} &> {log:q}"


# The part of the configuration that a stage at the end reads, as JSON in the order of the configuration.
rule write_experiment:
    localrule: True
    input:
        records.trigger("write_experiment"),
    output:
        "<results>/experiment/{stage}.json",
    log:
        "<logs>/write_experiment/{stage}.log",
    benchmark:
        "<benchmarks>/write_experiment/{stage}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("write_experiment"),
        settings=lambda wildcards: json.dumps(stages[wildcards.stage].settings(experiment), ensure_ascii=False),
        code=code.of("write_experiment"),
    threads: 1
    resources:
        mem_mb=double_on_retry(1000),
        runtime=extend_on_retry(10),
    message:
        "write the configuration for {wildcards.stage}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench write_experiment --settings {params.settings:q} -o {output:q} &> {log:q}"


rule tabulate:
    input:
        records.trigger("tabulate"),
        **stages.tabulated(experiment),
        experiment="<results>/experiment/tabulate.json",
    output:
        directory("<results>/tables"),
    log:
        "<logs>/tabulate.log",
    benchmark:
        "<benchmarks>/tabulate.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("tabulate"),
        expected=records.input_digests,
        code=code.of("tabulate"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(60),
    message:
        "write the tables"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench tabulate --expected {params.expected:q} -o {output:q} -- {input.experiment:q} &> {log:q}"


rule power:
    input:
        records.trigger("power"),
        local(pilot_tables(experiment)),
    output:
        directory("<results>/power"),
    log:
        "<logs>/power.log",
    benchmark:
        "<benchmarks>/power.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("power"),
        content=content_of(lambda wildcards: pilot_tables(experiment)),
        pilot=experiment.statistics.pilot,
        detect=experiment.statistics.detect,
        code=code.of("power"),
    priority: 2
    threads: 1
    resources:
        mem_mb=double_on_retry(1000),
        runtime=extend_on_retry(10),
    message:
        "compute the number of seeds needed"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench power --detect {params.detect:q} -o {output:q} -- {params.pilot:q} &> {log:q}"


rule analyse:
    input:
        records.trigger("analyse"),
        experiment="<results>/experiment/analyse.json",
        tables="<results>/tables",
        pilot=local(pilot_tables(experiment)),
        units=local(unit_tables(experiment)),
    output:
        directory("<results>/statistics"),
    log:
        "<logs>/analyse.log",
    benchmark:
        "<benchmarks>/analyse.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("analyse"),
        content=content_of(lambda wildcards: pilot_tables(experiment) + unit_tables(experiment)),
        code=code.of("analyse"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(30),
    message:
        "compute the statistics"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench analyse --experiment {input.experiment:q} -o {output:q} -- {input.tables:q} &> {log:q}"
