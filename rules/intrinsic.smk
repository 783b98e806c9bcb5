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
        metrics=targets.measure_metrics(),
        source=targets.measure_source(),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    message:
        "measure {wildcards.variant} at {wildcards.size}"
    shell:
        "tokbench measure --counts {input.counts:q} --corpus {params.corpus:q} --metrics {params.metrics:q}"
        " -o {output:q} -- {input.tokenizer:q} &> {log:q}"


rule measure_resource:
    input:
        tokenizer="<results>/tokenizers/{variant}/{size}",
        files=targets.resource_files,
    output:
        "<results>/intrinsic/{variant}/{size}/{resource}.json",
    log:
        "<logs>/measure_resource/{variant}/{size}/{resource}.log",
    benchmark:
        "<benchmarks>/measure_resource/{variant}/{size}/{resource}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        recipe=targets.resource_recipe,
        metrics=targets.resource_metrics,
        source=targets.resource_source,
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    message:
        "measure {wildcards.variant} at {wildcards.size} on {wildcards.resource}"
    shell:
        "tokbench measure_resource --recipe {params.recipe:q} --metrics {params.metrics:q}"
        " --name {wildcards.resource} -o {output:q} -- {input.tokenizer:q} {input.files:q} &> {log:q}"


rule measure_embeddings:
    input:
        model="<results>/models/{model}/{variant}/{size}",
        packed=targets.packed_of,
        tokenizer="<results>/tokenizers/{variant}/{size}",
    output:
        directory("<results>/embeddings/{model}/{variant}/{size}"),
    log:
        "<logs>/measure_embeddings/{model}/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/measure_embeddings/{model}/{variant}/{size}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        inputs=flags,
        corpus=targets.run_corpus,
        metrics=targets.embedding_metrics(),
        source=targets.embedding_source(),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    message:
        "measure the embeddings of {wildcards.model} with {wildcards.variant} at {wildcards.size}"
    shell:
        "tokbench measure_embeddings {params.inputs:q} --model-name {wildcards.model} --corpus {params.corpus:q}"
        " --metrics {params.metrics:q} -o {output:q} &> {log:q}"
