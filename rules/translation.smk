from tokbench.workflow.models import Translations
from tokbench.workflow.tokenizers import Measurements

measurements, translations = Measurements(experiment), Translations(experiment)


rule train_translation:
    input:
        records.trigger("train_translation"),
        corpus="<results>/parallel/{parallel}",
        source_tokenizer=collect("<results>/tokenizers/{{variant}}/{size}", size=translations.source_size),
        target_tokenizer=collect("<results>/tokenizers/{{target_variant}}/{size}", size=translations.target_size),
    output:
        directory("<results>/translation_models/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}"),
    log:
        "<logs>/train_translation/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}.log",
    benchmark:
        "<benchmarks>/train_translation/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        job=records.of("train_translation"),
        recipe=translations.training_recipe,
        code=code.of("train_translation"),
        checkpoints=checkpoints_in(
            workflow,
            experiment.folder,
            "train_translation/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}",
        ),
    priority: 1
    threads: translations.threads
    resources:
        mem_mb=translations.memory,
        runtime=translations.time,
        gpu=translations.gpus,
    message:
        "train {wildcards.model} to translate {wildcards.source} to {wildcards.target} with {wildcards.variant}"
        " and {wildcards.target_variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench train_translation --memory {resources.mem_mb:q} --recipe {params.recipe:q} --corpus {input.corpus:q}"
        " --source-tokenizer {input.source_tokenizer:q} --target-tokenizer {input.target_tokenizer:q}"
        " --from {wildcards.source} --to {wildcards.target} --checkpoints {params.checkpoints:q} -o {output:q}"
        " &> {log:q}"


rule measure_translation_embeddings:
    input:
        records.trigger("measure_translation_embeddings"),
        model="<results>/translation_models/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}",
    output:
        directory(
            "<results>/translation_embeddings/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}"
        ),
    log:
        "<logs>/measure_translation_embeddings/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}.log",
    benchmark:
        "<benchmarks>/measure_translation_embeddings/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("measure_translation_embeddings"),
        inputs=flags,
        metrics=measurements.metrics("embeddings"),
        code=code.of("measure_translation_embeddings"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(60),
    message:
        "measure the embeddings of {wildcards.model} with {wildcards.variant} and {wildcards.target_variant} at"
        " {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench measure_translation_embeddings --memory {resources.mem_mb:q} {params.inputs:q}"
        " --metrics {params.metrics:q} -o {output:q} &> {log:q}"


rule translate:
    input:
        records.trigger("translate"),
        model="<results>/translation_models/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}",
        corpus="<results>/parallel/{parallel}",
    output:
        "<results>/translations/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}/{test}.parquet",
    log:
        "<logs>/translate/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}/{test}.log",
    benchmark:
        "<benchmarks>/translate/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}/{test}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        job=records.of("translate"),
        recipe=translations.recipe,
        code=code.of("translate"),
    threads: translations.threads
    resources:
        mem_mb=translations.memory,
        runtime=extend_on_retry(480),
        gpu=translations.gpus,
    message:
        "translate {wildcards.test} using {wildcards.model} with {wildcards.variant} and {wildcards.target_variant} at"
        " {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench translate --memory {resources.mem_mb:q} --recipe {params.recipe:q} --model {input.model:q}"
        " --from {wildcards.source} --to {wildcards.target} -o {output:q} -- {input.corpus:q}/{wildcards.test}.parquet &> {log:q}"


rule score_translation:
    input:
        records.trigger("score_translation"),
        translation="<results>/translations/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}/{test}.parquet",
    output:
        "<results>/translation_scores/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}/{test}.json",
    log:
        "<logs>/score_translation/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}/{test}.log",
    benchmark:
        "<benchmarks>/score_translation/{model}/{parallel}/{source}/{target}/{variant}/{target_variant}/{size}/{test}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        job=records.of("score_translation"),
        scoring=translations.scoring_options,
        code=code.of("score_translation"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(240),
    message:
        "score {wildcards.model} with {wildcards.variant} and {wildcards.target_variant} at {wildcards.size} on"
        " {wildcards.test}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench score_translation {params.scoring:q} --corpus {wildcards.parallel} --test {wildcards.test}"
        " --from {wildcards.source} --to {wildcards.target} --model-name {wildcards.model}"
        " --source-variant {wildcards.variant} --target-variant {wildcards.target_variant} --size {wildcards.size}"
        " -o {output:q} -- {input.translation:q} &> {log:q}"
