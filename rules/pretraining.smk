from tokbench.workflow.pretraining import Models

models = Models(experiment)


rule pack:
    input:
        tokenizer="<results>/tokenizers/{variant}/{size}",
        corpus="<results>/corpus/{corpus}",
    output:
        directory("<results>/encoded/{variant}/{size}/{corpus}/{length}"),
    log:
        "<logs>/pack/{variant}/{size}/{corpus}/{length}.log",
    benchmark:
        "<benchmarks>/pack/{variant}/{size}/{corpus}/{length}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        source=fingerprint("tokbench.commands.pack"),
    threads: 1
    resources:
        mem_mb=doubling(4000),
        runtime=lengthening(720),
    message:
        "encode {wildcards.corpus} with {wildcards.variant} at {wildcards.size}"
    shell:
        "tokbench pack --memory {resources.mem_mb:q} --sequence-length {wildcards.length} -o {output:q}"
        " -- {input.tokenizer:q} {input.corpus:q}/pretraining/*.parquet &> {log:q}"


rule pretrain:
    input:
        packed=collect(
            "<results>/encoded/{{variant}}/{{size}}/{corpus}/{length}", corpus=models.corpus, length=models.length
        ),
        tokenizer="<results>/tokenizers/{variant}/{size}",
    output:
        directory("<results>/models/{model}/{variant}/{size}"),
    log:
        "<logs>/pretrain/{model}/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/pretrain/{model}/{variant}/{size}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        recipe=models.recipe,
        source=fingerprint("tokbench.commands.pretrain"),
        checkpoints=f"{experiment.folder}/checkpoints/pretrain/{{model}}/{{variant}}/{{size}}",
    priority: 1
    threads: models.threads
    resources:
        mem_mb=models.training_memory,
        runtime=models.training_time,
        gpu=models.gpus,
    message:
        "pretrain {wildcards.model} with {wildcards.variant} at {wildcards.size}"
    shell:
        "tokbench pretrain --recipe {params.recipe:q} --packed {input.packed:q} --tokenizer {input.tokenizer:q}"
        " --checkpoints {params.checkpoints:q} -o {output:q} &> {log:q}"
