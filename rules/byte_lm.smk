# High priority, since byte scores have the most stages after them. Language models come next.
from tokbench.workflow.byte_lms import ByteLms

byte_lms = ByteLms(experiment)


rule train_byte_lm:
    input:
        records.trigger("train_byte_lm"),
        corpus="<results>/corpus/{corpus}",
    output:
        directory("<results>/byte_lm/{corpus}/{byte_lm}/model"),
    log:
        "<logs>/train_byte_lm/{corpus}/{byte_lm}.log",
    benchmark:
        "<benchmarks>/train_byte_lm/{corpus}/{byte_lm}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        job=records.of("train_byte_lm"),
        recipe=byte_lms.training_recipe,
        code=code.of("train_byte_lm"),
        checkpoints=checkpoints_in(workflow, experiment.folder, "train_byte_lm/{corpus}/{byte_lm}"),
    priority: 2
    threads: byte_lms.threads
    resources:
        mem_mb=byte_lms.training_memory,
        runtime=byte_lms.training_time,
        gpu=byte_lms.gpus,
    message:
        "train byte language model {wildcards.byte_lm} on {wildcards.corpus}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench train_byte_lm --memory {resources.mem_mb:q} --recipe {params.recipe:q}"
        " --checkpoints {params.checkpoints:q} -o {output:q} -- {input.corpus:q}/byte_lm/*.parquet &> {log:q}"


rule score_bytes:
    input:
        records.trigger("score_bytes"),
        corpus="<results>/corpus/{corpus}",
        model="<results>/byte_lm/{corpus}/{byte_lm}/model",
    output:
        "<results>/byte_lm/{corpus}/{byte_lm}/scores/{shard}.parquet",
    log:
        "<logs>/score_bytes/{corpus}/{byte_lm}/{shard}.log",
    benchmark:
        "<benchmarks>/score_bytes/{corpus}/{byte_lm}/{shard}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        job=records.of("score_bytes"),
        recipe=byte_lms.recipe,
        code=code.of("score_bytes"),
    priority: 2
    threads: byte_lms.threads
    resources:
        mem_mb=byte_lms.scoring_memory,
        runtime=byte_lms.scoring_time,
        gpu=byte_lms.gpus,
    message:
        "score bytes of {wildcards.corpus} with {wildcards.byte_lm}, shard {wildcards.shard}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench score_bytes --memory {resources.mem_mb:q} --recipe {params.recipe:q} --model {input.model:q}"
        " -o {output:q} -- {input.corpus:q}/tokenizer/{wildcards.shard}.parquet &> {log:q}"


# Runs only if report.byte_signals contains sentences.
rule draw_bytes:
    input:
        records.trigger("draw_bytes"),
        model="<results>/byte_lm/{corpus}/{byte_lm}/model",
        scores=collect("<results>/byte_lm/{{corpus}}/{{byte_lm}}/scores/{shard}.parquet", shard=byte_lms.shards),
    output:
        report(
            directory("<results>/byte_lm/{corpus}/{byte_lm}/figures"),
            patterns=["{figure}.svg"],
            caption="../report/figures.rst",
            category="Figures",
            labels={"figure": "{figure}", "byte model": "{byte_lm}", "corpus": "{corpus}"},
        ),
    log:
        "<logs>/draw_bytes/{corpus}/{byte_lm}.log",
    benchmark:
        "<benchmarks>/draw_bytes/{corpus}/{byte_lm}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        job=records.of("draw_bytes"),
        recipe=byte_lms.recipe,
        sentences=byte_lms.sentences,
        code=code.of("draw_bytes"),
    threads: byte_lms.threads
    resources:
        mem_mb=byte_lms.scoring_memory,
        runtime=extend_on_retry(30),
        gpu=byte_lms.gpus,
    message:
        "draw bytes of sentences with {wildcards.byte_lm} on {wildcards.corpus}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench draw_bytes --memory {resources.mem_mb:q} --recipe {params.recipe:q} --model {input.model:q}"
        " {params.sentences:q} -o {output:q} {input.scores:q} &> {log:q}"
