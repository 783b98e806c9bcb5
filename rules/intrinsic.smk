rule measure:
    input:
        tokenizer="<results>/tokenizers/{variant}/{size}",
        counts=targets.evaluation_counts_of,
    output:
        "<results>/intrinsic/{variant}/{size}.json",
    log:
        "<logs>/measure/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/measure/{variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        corpus=targets.corpus_of,
        source=targets.measure_source(),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    message:
        "measure {wildcards.variant} at {wildcards.size}"
    shell:
        "tokbench measure {input.tokenizer} --counts {input.counts} --corpus {params.corpus} -o {output} &> {log}"
