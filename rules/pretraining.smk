from tokbench.workflow.models import Models

models = Models(experiment)


rule encode_shard:
    input:
        records.trigger("encode_shard"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        corpus=collect("<results>/corpus/{corpus}", corpus=models.corpus),
    output:
        temp("<results>/encoded/{model}/{variant}/{size}/{part}.parquet"),
    log:
        "<logs>/encode_shard/{model}/{variant}/{size}/{part}.log",
    benchmark:
        "<benchmarks>/encode_shard/{model}/{variant}/{size}/{part}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("encode_shard"),
        shards=models.shards_of_part,
        order=models.order,
        code=code.of("encode_shard"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(720),
    message:
        "encode part {wildcards.part} of the text of {wildcards.model} with {wildcards.variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench encode_shard --memory {resources.mem_mb:q} {params.order:q} -o {output:q}"
        " -- {input.tokenizer:q} {params.shards:q} &> {log:q}"


rule gather_tokens:
    input:
        records.trigger("gather_tokens"),
        tokens=collect("<results>/encoded/{{model}}/{{variant}}/{{size}}/{part}.parquet", part=models.parts),
    output:
        temp(directory("<results>/gathered/{model}/{variant}/{size}")),
    log:
        "<logs>/gather_tokens/{model}/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/gather_tokens/{model}/{variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("gather_tokens"),
        code=code.of("gather_tokens"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(60),
    message:
        "merge tokens of {wildcards.variant} at {wildcards.size} for {wildcards.model}"
    shell:
        "TOKBENCH_JOB={params.job:q} " "tokbench gather_tokens -o {output:q} -- {input.tokens:q} &> {log:q}"


rule pack_slice:
    input:
        records.trigger("pack_slice"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        tokens="<results>/gathered/{model}/{variant}/{size}",
    output:
        temp(directory("<results>/slices/{model}/{variant}/{size}/{slice}")),
    log:
        "<logs>/pack_slice/{model}/{variant}/{size}/{slice}.log",
    benchmark:
        "<benchmarks>/pack_slice/{model}/{variant}/{size}/{slice}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("pack_slice"),
        length=models.length,
        seed=models.seed,
        budget=models.text_budget,
        slice=lambda wildcards: int(wildcards.slice),
        code=code.of("pack_slice"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(240),
    message:
        "pack slice {wildcards.slice} with {wildcards.variant} at {wildcards.size} for {wildcards.model}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench pack_slice --memory {resources.mem_mb:q} --sequence-length {params.length:q} --seed {params.seed:q}"
        " {params.budget:q} --slice {params.slice:q} -o {output:q} -- {input.tokenizer:q} {input.tokens:q} &> {log:q}"


rule pack:
    input:
        records.trigger("pack"),
        tokenizer="<results>/tokenizers/{variant}/{size}",
        corpus=collect("<results>/corpus/{corpus}", corpus=models.unsliced_corpus),
        slices=collect("<results>/slices/{{model}}/{{variant}}/{{size}}/{slice}", slice=models.slices),
    output:
        packed=temp(directory("<results>/packed/{model}/{variant}/{size}")),
        counts="<results>/token_counts/{model}/{variant}/{size}.parquet",
    log:
        "<logs>/pack/{model}/{variant}/{size}.log",
    benchmark:
        "<benchmarks>/pack/{model}/{variant}/{size}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("pack"),
        text=models.packed_from,
        length=models.length,
        seed=models.seed,
        budget=models.text_budget,
        code=code.of("pack"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(720),
    message:
        "encode and pack the text of {wildcards.model} with {wildcards.variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench pack --memory {resources.mem_mb:q} --sequence-length {params.length:q} --seed {params.seed:q}"
        " {params.budget:q} --token-counts {output.counts:q}"
        " -o {output.packed:q} -- {input.tokenizer:q} {params.text:q} &> {log:q}"


rule pretrain:
    input:
        records.trigger("pretrain"),
        packed="<results>/packed/{model}/{variant}/{size}",
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
        job=records.of("pretrain"),
        recipe=models.recipe,
        code=code.of("pretrain"),
        checkpoints=checkpoints_in(workflow, experiment.folder, "pretrain/{model}/{variant}/{size}"),
    priority: 1
    threads: models.threads
    resources:
        mem_mb=models.training_memory,
        runtime=models.training_time,
        nodes=models.nodes,
        tasks=models.nodes,
        processes_per_node=models.processes_per_node,
        gpu=models.gpus,
        gres=models.gpus_of_each_node,
    message:
        "pretrain {wildcards.model} with {wildcards.variant} at {wildcards.size}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench pretrain --memory {resources.mem_mb:q} --recipe {params.recipe:q} --packed {input.packed:q}"
        " --tokenizer {input.tokenizer:q} --nodes {resources.nodes:q}"
        " --processes-per-node {resources.processes_per_node:q} --checkpoints {params.checkpoints:q} -o {output:q}"
        " &> {log:q}"
