rule build_initial:
    input:
        counts="<results>/pretokens/{corpus}/tokenizer/{scheme}.parquet",
    output:
        directory("<results>/initial/{corpus}/{scheme}/{initial}/{size}"),
    log:
        "<logs>/build_initial/{corpus}/{scheme}/{initial}/{size}.log",
    benchmark:
        "<benchmarks>/build_initial/{corpus}/{scheme}/{initial}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        source=targets.initial_source,
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
    message:
        "build initial vocabulary {wildcards.initial} of {wildcards.size} tokens"
    shell:
        "tokbench build {wildcards.initial} --counts {input.counts:q} --size {wildcards.size}"
        " --threads {threads} -o {output:q} &> {log:q}"


rule build:
    input:
        targets.option_files_of,
        counts=targets.counts_of,
        scores=targets.scores_of,
        documents=targets.documents_of,
        initial=targets.initial_of,
    output:
        directory("<results>/tokenizers/{variant}/{size}"),
    log:
        "<logs>/build/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/build/{variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        construction=targets.construction_of,
        recipe=targets.recipe_of,
        segmentation=targets.segmentation_of,
        scheme=targets.scheme_of,
        inputs=flags,
        seed=experiment.seed,
        source=targets.source_of,
    threads: 1
    resources:
        mem_mb=8000,
        runtime=480,
    message:
        "build {wildcards.variant} at {wildcards.size}"
    shell:
        "tokbench build {params.construction:q} --recipe {params.recipe:q} {params.segmentation:q}"
        " --scheme {params.scheme:q} {params.inputs:q}"
        " --size {wildcards.size} --seed {params.seed:q} --threads {threads} --name {wildcards.variant}"
        " -o {output:q} &> {log:q}"
