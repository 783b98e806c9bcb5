from tokbench.workflow.report import as_written


rule draw:
    input:
        tables="<results>/tables",
        statistics="<results>/statistics",
    output:
        report(
            directory("<results>/figures"),
            patterns=["{figure}.svg"],
            caption="../report/figures.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        "<logs>/draw.log",
    benchmark:
        "<benchmarks>/draw.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        inputs=flags,
        experiment=as_written(experiment),
        source=fingerprint("tokbench.commands.draw"),
    threads: 1
    resources:
        mem_mb=doubling(2000),
        runtime=lengthening(30),
    message:
        "draw the figures"
    shell:
        "tokbench draw {params.inputs:q} --experiment {params.experiment:q} -o {output:q} &> {log:q}"


rule typeset:
    input:
        tables="<results>/tables",
        statistics="<results>/statistics",
    output:
        report(
            directory("<results>/typeset"),
            patterns=["{table}.csv"],
            caption="../report/tables.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
    log:
        "<logs>/typeset.log",
    benchmark:
        "<benchmarks>/typeset.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        inputs=flags,
        experiment=as_written(experiment),
        source=fingerprint("tokbench.commands.typeset"),
    threads: 1
    resources:
        mem_mb=doubling(2000),
        runtime=lengthening(30),
    message:
        "typeset the tables"
    shell:
        "tokbench typeset {params.inputs:q} --experiment {params.experiment:q} -o {output:q} &> {log:q}"


rule report:
    input:
        tables="<results>/tables",
        statistics="<results>/statistics",
    output:
        report("<results>/report.html", caption="../report/report.rst", category="Report"),
    log:
        "<logs>/report.log",
    benchmark:
        "<benchmarks>/report.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        inputs=flags,
        experiment=as_written(experiment),
        source=fingerprint("tokbench.commands.report"),
    threads: 1
    resources:
        mem_mb=doubling(2000),
        runtime=lengthening(30),
    message:
        "write the report"
    shell:
        "tokbench report {params.inputs:q} --experiment {params.experiment:q} -o {output:q} &> {log:q}"
