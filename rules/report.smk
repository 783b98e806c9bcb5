rule draw:
    input:
        tables="<results>/tables",
        statistics="<results>/statistics",
    output:
        directory("<results>/figures"),
    log:
        "<logs>/draw.log",
    benchmark:
        "<benchmarks>/draw.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        recipe=targets.report_recipe(),
        source=fingerprint("tokbench.report.figures"),
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    message:
        "draw the figures"
    shell:
        "tokbench draw {input.tables} {input.statistics} --recipe {params.recipe:q} -o {output} &> {log}"


rule report:
    input:
        tables="<results>/tables",
        statistics="<results>/statistics",
        figures="<results>/figures",
    output:
        "<results>/report.html",
    log:
        "<logs>/report.log",
    benchmark:
        "<benchmarks>/report.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        recipe=targets.report_recipe(),
        source=fingerprint("tokbench.report.html"),
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    message:
        "write the report"
    shell:
        "tokbench report {input.tables} {input.statistics} {input.figures} --recipe {params.recipe:q} -o {output} &> {log}"
