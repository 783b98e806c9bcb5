from tokbench.stages.measurement import OF_TEXT
from tokbench.workflow.models import Models
from tokbench.workflow.tokenizers import Measurements

measurements, models = Measurements(experiment), Models(experiment)


rule measure:
    input:
        records.trigger("measure"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        counts=collect(
            "<results>/pretokens/{corpus}/evaluation/{scheme}.parquet",
            corpus=measurements.corpus,
            scheme=measurements.schemes,
        ),
        reference=collect(
            "<results>/pretokens/{corpus}/evaluation/{scheme}.parquet",
            corpus=measurements.reference,
            scheme=measurements.schemes,
        ),
        corpus=collect("<results>/corpus/{corpus}", corpus=measurements.corpora),
    output:
        "<results>/intrinsic/{variant}/{size}.json",
    log:
        "<logs>/measure/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/measure/{variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("measure"),
        text=measurements.text,
        corpus=measurements.corpus,
        metrics=measurements.metrics(*OF_TEXT),
        code=code.of("measure"),
    threads: 1
    resources:
        mem_mb=measurements.memory,
        runtime=extend_on_retry(60),
    message:
        "measure {wildcards.variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench measure --only-counts {params.text:q} --corpus {params.corpus:q} --metrics {params.metrics:q}"
        " --memory {resources.mem_mb:q} -o {output:q} -- {input.tokenizer:q} &> {log:q}"


use rule measure as measure_on with:
    input:
        records.trigger("measure_on"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        counts=collect(
            "<results>/pretokens/{corpus}/evaluation/{scheme}.parquet",
            corpus=measurements.corpus,
            scheme=measurements.schemes,
        ),
        reference=collect(
            "<results>/pretokens/{corpus}/evaluation/{scheme}.parquet",
            corpus=measurements.reference,
            scheme=measurements.schemes,
        ),
        corpus=collect("<results>/corpus/{corpus}", corpus=measurements.corpora),
    output:
        "<results>/intrinsic/{variant}/{size}/on/{on}.json",
    log:
        "<logs>/measure_on/{variant}/{size}/{on}.log",
    benchmark:
        "<benchmarks>/measure_on/{variant}/{size}/{on}.tsv"
    params:
        job=records.of("measure_on"),
        code=code.of("measure_on"),
    message:
        "measure {wildcards.variant} at {wildcards.size} on {wildcards.on}"


rule measure_domains:
    input:
        records.trigger("measure_domains"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        corpus="<results>/corpus/{on}",
    output:
        "<results>/domain_measurements/{variant}/{size}/{on}.json",
    log:
        "<logs>/measure_domains/{variant}/{size}/{on}.log",
    benchmark:
        "<benchmarks>/measure_domains/{variant}/{size}/{on}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("measure_domains"),
        documents=measurements.documents,
        metrics=measurements.metrics("text"),
        code=code.of("measure_domains"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(60),
    message:
        "measure {wildcards.variant} at {wildcards.size} by domain of {wildcards.on}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench measure --only-counts --language-field domain {params.documents:q} --corpus {wildcards.on}"
        " --metrics {params.metrics:q} --memory {resources.mem_mb:q} -o {output:q} -- {input.tokenizer:q} &> {log:q}"


rule measure_documents:
    input:
        records.trigger("measure_documents"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        baseline=collect("<results>/tokenizers/{named}", named=measurements.baseline),
        corpus="<results>/corpus/{on}",
    output:
        "<results>/document_metrics/{variant}/{size}/{on}.json",
    log:
        "<logs>/measure_documents/{variant}/{size}/{on}.log",
    benchmark:
        "<benchmarks>/measure_documents/{variant}/{size}/{on}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("measure_documents"),
        documents=measurements.documents,
        baseline=measurements.baseline_flags,
        metrics=measurements.document_metrics,
        code=code.of("measure_documents"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(60),
    message:
        "measure {wildcards.variant} at {wildcards.size} on documents of {wildcards.on}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench measure --only-documents {params.documents:q} {params.baseline:q} --corpus {wildcards.on}"
        " --metrics {params.metrics:q} --memory {resources.mem_mb:q} -o {output:q} -- {input.tokenizer:q} &> {log:q}"


rule count_tokens:
    input:
        records.trigger("count_tokens"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        corpus="<results>/corpus/{on}",
    output:
        tokens="<results>/tokens/{variant}/{size}/{on}.json",
        speed="<results>/speeds/{variant}/{size}/{on}.json",
    log:
        "<logs>/count_tokens/{variant}/{size}/{on}.log",
    benchmark:
        "<benchmarks>/count_tokens/{variant}/{size}/{on}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("count_tokens"),
        code=code.of("count_tokens"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(60),
    message:
        "count tokens per document of {wildcards.on} with {wildcards.variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench count_tokens --corpus {wildcards.on} --memory {resources.mem_mb:q} --speed {output.speed:q}"
        " -o {output.tokens:q} -- {input.tokenizer:q} {input.corpus:q}/evaluation/*.parquet &> {log:q}"


rule bound:
    input:
        records.trigger("bound"),
        counts="<results>/pretokens/{corpus}/evaluation/{scheme}.parquet",
    output:
        "<results>/bounds/{corpus}/{scheme}/{size}.json",
    log:
        "<logs>/bound/{corpus}/{scheme}/{size}.log",
    benchmark:
        "<benchmarks>/bound/{corpus}/{scheme}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("bound"),
        steps=experiment.bounds.steps,
        longest=experiment.bounds.max_pretoken_bytes,
        code=code.of("bound"),
    threads: 1
    resources:
        mem_mb=measurements.bounding_memory,
        runtime=extend_on_retry(120),
    message:
        "compute a lower bound on tokens of {wildcards.corpus} with {wildcards.scheme} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench bound --counts {input.counts:q} --size {wildcards.size} --steps {params.steps:q}"
        " --max-pretoken-bytes {params.longest:q}"
        " --memory {resources.mem_mb:q} --result {output:q} &> {log:q}"


rule measure_resource:
    input:
        records.trigger("measure_resource"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        files=ancient(local(measurements.resource_files)),
    output:
        measured="<results>/intrinsic/{variant}/{size}/{resource}.json",
        words="<results>/words/{variant}/{size}/{resource}.json",
    log:
        "<logs>/measure_resource/{variant}/{size}/{resource}.log",
    benchmark:
        "<benchmarks>/measure_resource/{variant}/{size}/{resource}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("measure_resource"),
        content=content_of(measurements.resource_files),
        recipe=measurements.resource_recipe,
        metrics=measurements.resource_metrics,
        code=code.of("measure_resource"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(60),
    message:
        "measure {wildcards.variant} at {wildcards.size} on {wildcards.resource}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench measure_resource --memory {resources.mem_mb:q} --recipe {params.recipe:q} --metrics {params.metrics:q}"
        " --name {wildcards.resource} --by-word {output.words:q} -o {output.measured:q}"
        " -- {input.tokenizer:q} {input.files:q} &> {log:q}"


rule measure_embeddings:
    input:
        records.trigger("measure_embeddings"),
        model="<results>/models/{model}/{variant}/{size}",
        token_counts="<results>/token_counts/{model}/{variant}/{size}.parquet",
        tokenizer="<results>/tokenizers/{variant}/{size}",
    output:
        directory("<results>/embeddings/{model}/{variant}/{size}"),
    log:
        "<logs>/measure_embeddings/{model}/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/measure_embeddings/{model}/{variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("measure_embeddings"),
        inputs=flags,
        corpus=models.corpus,
        metrics=measurements.metrics("embeddings"),
        code=code.of("measure_embeddings"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(60),
    message:
        "measure the embeddings of {wildcards.model} with {wildcards.variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench measure_embeddings --memory {resources.mem_mb:q} {params.inputs:q} --model-name {wildcards.model}"
        " --corpus {params.corpus:q} --metrics {params.metrics:q} -o {output:q} &> {log:q}"
