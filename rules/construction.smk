from tokbench.workflow.tokenizers import Variants, initial_memory

variants = Variants(experiment)


rule build_initial:
    input:
        records.trigger("build_initial"),
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
        job=records.of("build_initial"),
        code=code.of("build_initial"),
    threads: 1
    resources:
        mem_mb=initial_memory,
        runtime=extend_on_retry(240),
    message:
        "build initial vocabulary {wildcards.initial} with {wildcards.size} tokens"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench build {wildcards.initial} --counts {input.counts:q} --size {wildcards.size}"
        " --threads {threads} --memory {resources.mem_mb:q} -o {output:q} &> {log:q}"


rule build_initial_recipe:
    input:
        records.trigger("build_initial_recipe"),
        ancient(local(variants.initial_files)),
        counts="<results>/pretokens/{corpus}/tokenizer/{scheme}.parquet",
    output:
        directory("<results>/initial/{corpus}/{scheme}/{initial_recipe}/{size}"),
    log:
        "<logs>/build_initial_recipe/{corpus}/{scheme}/{initial_recipe}/{size}.log",
    benchmark:
        "<benchmarks>/build_initial_recipe/{corpus}/{scheme}/{initial_recipe}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("build_initial_recipe"),
        content=content_of(variants.initial_files),
        construction=variants.initial_method,
        recipe=variants.initial_recipe,
        code=code.of("build_initial_recipe"),
    threads: 1
    resources:
        mem_mb=variants.initial_memory,
        runtime=extend_on_retry(240),
    message:
        "build initial vocabulary {wildcards.initial_recipe} with {wildcards.size} tokens"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench build {params.construction:q} --recipe {params.recipe:q} --counts {input.counts:q}"
        " --size {wildcards.size} --threads {threads} --memory {resources.mem_mb:q} -o {output:q} &> {log:q}"


rule build:
    input:
        records.trigger("build"),
        ancient(local(variants.files)),
        counts=collect(
            "<results>/pretokens/{corpus}/tokenizer/{scheme}.parquet", corpus=variants.corpus, scheme=variants.scheme
        ),
        scores=collect(
            "<results>/byte_lm/{corpus}/{byte_lm}/scores/{shard}.parquet",
            corpus=variants.corpus,
            byte_lm=variants.byte_lm,
            shard=variants.shards,
        ),
        documents=collect("<results>/corpus/{corpus}", corpus=variants.documents),
        development=collect(
            "<results>/pretokens/{corpus}/tokenizer/{scheme}.parquet",
            corpus=variants.development,
            scheme=variants.scheme,
        ),
        initial=collect(
            "<results>/initial/{corpus}/{scheme}/{initial}/{size}",
            corpus=variants.corpus,
            scheme=variants.scheme,
            initial=variants.initial,
            size=variants.initial_size,
        ),
    output:
        directory("<results>/tokenizers/{variant}/{size}"),
    wildcard_constraints:
        size=r"\d+",
    log:
        "<logs>/build/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/build/{variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("build"),
        content=content_of(variants.files),
        construction=variants.method,
        recipe=variants.recipe,
        segmentation=variants.segmentation,
        min_count=variants.min_count,
        pretokenization=variants.pretokenization,
        inputs=flags,
        seed=experiment.seed,
        code=code.of("build"),
    threads: 1
    resources:
        mem_mb=variants.memory,
        runtime=extend_on_retry(480),
    message:
        "build {wildcards.variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench build {params.construction:q} --recipe {params.recipe:q} {params.segmentation:q} {params.min_count:q}"
        " --pretokenization {params.pretokenization:q} {params.inputs:q}"
        " --size {wildcards.size} --seed {params.seed:q} --threads {threads} --memory {resources.mem_mb:q}"
        " --name {wildcards.variant}"
        " -o {output:q} &> {log:q}"
