from tokbench.stages import ngram_bits
from tokbench.workflow.tokenizers import Measurements

measurements = Measurements(experiment)
ngram_models = ngram_bits.SECTION.or_default(experiment)


rule ngram_bits:
    input:
        records.trigger("ngram_bits"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        corpus=collect("<results>/corpus/{corpus}", corpus=measurements.corpus),
    output:
        "<results>/ngram_bits/{variant}/{size}.json",
    log:
        "<logs>/ngram_bits/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/ngram_bits/{variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("ngram_bits"),
        corpus=measurements.corpus,
        split=ngram_models.split,
        order=ngram_models.order,
        budgets=ngram_bits.budgets(experiment),
        code=code.of("ngram_bits"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(120),
    message:
        "compute n-gram bits of {wildcards.variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench ngram_bits {input.tokenizer:q} --corpus {params.corpus:q} --order {params.order:q} {params.budgets:q}"
        " --memory {resources.mem_mb:q} --train {input.corpus:q}/{params.split:q}/*.parquet"
        " --test {input.corpus:q}/evaluation/*.parquet -o {output:q} &> {log:q}"


use rule ngram_bits as ngram_bits_on with:
    input:
        records.trigger("ngram_bits_on"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        corpus="<results>/corpus/{on}",
    output:
        "<results>/ngram_bits/{variant}/{size}/{on}.json",
    log:
        "<logs>/ngram_bits_on/{variant}/{size}/{on}.log",
    benchmark:
        "<benchmarks>/ngram_bits_on/{variant}/{size}/{on}.tsv"
    params:
        job=records.of("ngram_bits_on"),
        code=code.of("ngram_bits_on"),
    message:
        "compute n-gram bits of {wildcards.variant} at {wildcards.size} on {wildcards.on}"
