rule tabulate:
    input:
        intrinsic=targets.measurements(),
        tokenizer=targets.tokenizers("<results>/tokenizers/{variant}/{size}"),
        embeddings=targets.models("<results>/embeddings/{model}/{variant}/{size}"),
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
        baseline=targets.baseline_flags(),
        venn=targets.venn_flags(),
        source=fingerprint("tokbench.commands.tabulate"),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    message:
        "gather the tables"
    shell:
        "tokbench tabulate {params.inputs:q} {params.baseline:q} {params.venn:q} -o {output:q} &> {log:q}"


rule analyse:
    input:
        "<results>/tables",
    output:
        directory("<results>/statistics"),
    log:
        "<logs>/analyse.log",
    benchmark:
        "<benchmarks>/analyse.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        recipes=targets.analysed_recipe(),
        source=fingerprint("tokbench.commands.analyse"),
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    message:
        "compute the statistics"
    shell:
        "tokbench analyse --recipes {params.recipes:q} -o {output:q} -- {input:q} &> {log:q}"
