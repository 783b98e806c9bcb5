from tokbench.options import canonical
from tokbench.workflow.models import Models, Suites, checkpoint_flags, evaluating_memory

models, suites = Models(experiment), Suites(experiment)


rule make_tasks:
    input:
        records.trigger("make_tasks"),
        corpus="<results>/corpus/{corpus}",
    output:
        directory("<results>/tasks/{corpus}"),
    log:
        "<logs>/make_tasks/{corpus}.log",
    benchmark:
        "<benchmarks>/make_tasks/{corpus}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("make_tasks"),
        recipe=canonical(experiment.tasks),
        examples=suites.examples,
        code=code.of("make_tasks"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(60),
    message:
        "make offline tasks from {wildcards.corpus}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench make_tasks --recipe {params.recipe:q} {params.examples:q} -o {output:q} -- {input.corpus:q}/evaluation/*.parquet &> {log:q}"


rule fetch_tasks:
    input:
        records.trigger("fetch_tasks"),
    output:
        directory("<resources>/tasks/{digest}"),
    log:
        "<logs>/fetch_tasks/{digest}.log",
    benchmark:
        "<benchmarks>/fetch_tasks/{digest}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        job=records.of("fetch_tasks"),
        recipe=suites.fetch_recipe,
        code=code.of("fetch_tasks"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(120),
    message:
        "download tasks from the Hugging Face hub"
    shell:
        "TOKBENCH_JOB={params.job:q} " "tokbench fetch_tasks --recipe {params.recipe:q} -o {output:q} &> {log:q}"


rule import_tasks:
    input:
        records.trigger("import_tasks"),
        ancient(local(suites.local_files)),
    output:
        directory("<results>/local_tasks/{suite}"),
    log:
        "<logs>/import_tasks/{suite}.log",
    benchmark:
        "<benchmarks>/import_tasks/{suite}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("import_tasks"),
        content=content_of(suites.local_files),
        recipe=suites.import_recipe,
        folder=lambda wildcards, input: suites.local_folder(wildcards),
        code=code.of("import_tasks"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(60),
    message:
        "import the tasks of {wildcards.suite}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench import_tasks --recipe {params.recipe:q} --path {params.folder:q} -o {output:q} &> {log:q}"


rule evaluate:
    input:
        records.trigger("evaluate"),
        corpus=collect("<results>/corpus/{corpus}", corpus=models.corpus),
        model="<results>/models/{model}/{variant}/{size}",
        tokenizer="<results>/tokenizers/{variant}/{size}",
        tasks=branch(
            suites.source,
            cases={
                "offline": collect("<results>/tasks/{corpus}", corpus=models.corpus),
                "local": "<results>/local_tasks/{suite}",
                "hub": [],
            },
        ),
        hub_cache=branch(
            suites.source,
            cases={"hub": collect("<resources>/tasks/{digest}", digest=suites.digest), "offline": [], "local": []},
        ),
    output:
        "<results>/downstream/{model}/{variant}/{size}/{suite}.json",
    log:
        "<logs>/evaluate/{model}/{variant}/{size}/{suite}.log",
    benchmark:
        "<benchmarks>/evaluate/{model}/{variant}/{size}/{suite}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        job=records.of("evaluate"),
        recipe=suites.recipe,
        inputs=flags,
        corpus=models.corpus,
        device=models.device,
        code=code.of("evaluate"),
    threads: 1
    resources:
        mem_mb=evaluating_memory(models.applying_memory),
        runtime=extend_on_retry(480),
        gpu=models.testing_gpus,
    message:
        "evaluate {wildcards.model} with {wildcards.variant} at {wildcards.size} on {wildcards.suite}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench evaluate --memory {resources.mem_mb:q} {params.inputs:q}"
        " --model-name {wildcards.model} --variant {wildcards.variant} --size {wildcards.size}"
        " --corpus {params.corpus:q} --suite {wildcards.suite} --recipe {params.recipe:q} --device {params.device:q}"
        " -o {output:q} -- {input.corpus:q}/evaluation/*.parquet &> {log:q}"


use rule evaluate as evaluate_checkpoint with:
    input:
        records.trigger("evaluate_checkpoint"),
        corpus=collect("<results>/corpus/{corpus}", corpus=models.corpus),
        model="<results>/models/{model}/{variant}/{size}",
        tokenizer="<results>/tokenizers/{variant}/{size}",
        tasks=branch(
            suites.source,
            cases={
                "offline": collect("<results>/tasks/{corpus}", corpus=models.corpus),
                "local": "<results>/local_tasks/{suite}",
                "hub": [],
            },
        ),
        hub_cache=branch(
            suites.source,
            cases={"hub": collect("<resources>/tasks/{digest}", digest=suites.digest), "offline": [], "local": []},
        ),
    output:
        "<results>/convergence/{model}/{variant}/{size}/{share}/{suite}.json",
    log:
        "<logs>/evaluate_checkpoint/{model}/{variant}/{size}/{share}/{suite}.log",
    benchmark:
        "<benchmarks>/evaluate_checkpoint/{model}/{variant}/{size}/{share}/{suite}.tsv"
    params:
        job=records.of("evaluate_checkpoint"),
        inputs=checkpoint_flags,
        code=code.of("evaluate_checkpoint"),
    message:
        "evaluate {wildcards.model} with {wildcards.variant} at {wildcards.size} on {wildcards.suite}, "
        "checkpoint at {wildcards.share}"
