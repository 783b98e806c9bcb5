rule tabulate:
    input:
        intrinsic=targets.tokenizers("<results>/intrinsic/{variant}/{size}.json"),
        tokenizer=targets.tokenizers("<results>/tokenizers/{variant}/{size}"),
        model=targets.models("<results>/models/{model}/{variant}/{size}"),
        downstream=targets.models("<results>/downstream/{model}/{variant}/{size}/{suite}.json"),
    output:
        directory("<results>/tables"),
    log:
        "<logs>/tabulate.log",
    benchmark:
        "<benchmarks>/tabulate.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        inputs=flags,
        venn=targets.venn_flags(),
        source=fingerprint("tokbench.commands.tabulate", "tokbench.statistics.tables", "tokbench.intrinsic.overlap"),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    message:
        "gather the tables"
    shell:
        "tokbench tabulate {params.inputs} {params.venn} -o {output} &> {log}"


rule compare:
    input:
        "<results>/tables",
    output:
        directory("<results>/statistics"),
    log:
        "<logs>/compare.log",
    benchmark:
        "<benchmarks>/compare.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        source=fingerprint(
            "tokbench.commands.compare",
            "tokbench.statistics.correlation",
            "tokbench.statistics.pairs",
            "tokbench.statistics.ranks",
            "tokbench.statistics.tables",
        ),
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    message:
        "compare the variants"
    shell:
        "tokbench compare {input} -o {output} &> {log}"
