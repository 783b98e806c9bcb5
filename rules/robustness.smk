from tokbench.stages import robustness
from tokbench.workflow.tokenizers import Variants

variants = Variants(experiment)


rule perturb:
    input:
        records.trigger("perturb"),
        corpus="<results>/corpus/{corpus}",
    output:
        "<results>/perturbed/{corpus}.parquet",
    log:
        "<logs>/perturb/{corpus}.log",
    benchmark:
        "<benchmarks>/perturb/{corpus}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("perturb"),
        options=robustness.flags(experiment),
        code=code.of("perturb"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(30),
    message:
        "perturb text of {wildcards.corpus}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench perturb {params.options:q} --memory {resources.mem_mb:q} -o {output:q} -- {input.corpus:q}/evaluation/*.parquet &> {log:q}"


rule measure_robustness:
    input:
        records.trigger("measure_robustness"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        lines=collect("<results>/perturbed/{corpus}.parquet", corpus=variants.corpus),
    output:
        "<results>/robustness/{variant}/{size}.json",
    log:
        "<logs>/measure_robustness/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/measure_robustness/{variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("measure_robustness"),
        corpus=variants.corpus,
        code=code.of("measure_robustness"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(30),
    message:
        "measure the robustness of {wildcards.variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench measure_robustness --corpus {params.corpus:q} --memory {resources.mem_mb:q} -o {output:q}"
        " {input.tokenizer:q} {input.lines:q} &> {log:q}"
