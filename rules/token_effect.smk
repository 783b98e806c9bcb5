from tokbench.stages.token_effects import TokenEffects
from tokbench.workflow.models import Models, evaluating_memory

models, token_effects = Models(experiment), TokenEffects(experiment)


rule score_tokens:
    input:
        records.trigger("score_tokens"),
        corpus=collect("<results>/corpus/{corpus}", corpus=models.corpus),
        model="<results>/models/{model}/{variant}/{size}",
        tokenizer="<results>/tokenizers/{variant}/{size}",
        longer=collect(
            "<results>/tokenizers/{of}/{longer}",
            of=lambda wildcards: [wildcards.variant],
            longer=token_effects.longer,
        ),
    output:
        "<results>/token_scores/{model}/{variant}/{size}.json",
    wildcard_constraints:
        size=r"\d+",
    log:
        "<logs>/score_tokens/{model}/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/score_tokens/{model}/{variant}/{size}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        job=records.of("score_tokens"),
        inputs=flags,
        options=token_effects.flags,
        corpus=models.corpus,
        device=models.device,
        code=code.of("score_tokens"),
    threads: 1
    resources:
        mem_mb=evaluating_memory(models.applying_memory),
        runtime=extend_on_retry(240),
        gpu=models.testing_gpus,
    message:
        "score the tokens around the end of {wildcards.variant} at {wildcards.size} with {wildcards.model}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench score_tokens --memory {resources.mem_mb:q} {params.inputs:q} {params.options:q}"
        " --model-name {wildcards.model} --variant {wildcards.variant} --size {wildcards.size}"
        " --corpus {params.corpus:q} --device {params.device:q}"
        " -o {output:q} -- {input.corpus:q}/evaluation/*.parquet &> {log:q}"
