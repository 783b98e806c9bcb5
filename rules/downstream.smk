rule make_tasks:
    input:
        "<results>/corpus/{corpus}",
    output:
        directory("<results>/tasks/{corpus}"),
    log:
        "<logs>/make_tasks/{corpus}.log",
    benchmark:
        "<benchmarks>/make_tasks/{corpus}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        recipe=canonical(experiment.tasks),
        source=fingerprint("tokbench.commands.make_tasks"),
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    message:
        "make offline tasks from {wildcards.corpus}"
    shell:
        "tokbench make_tasks --recipe {params.recipe:q} -o {output:q} -- {input:q}/evaluation/*.parquet &> {log:q}"


rule fetch_tasks:
    output:
        directory("<resources>/tasks/{digest}"),
    log:
        "<logs>/fetch_tasks/{digest}.log",
    benchmark:
        "<benchmarks>/fetch_tasks/{digest}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        recipe=targets.fetch_tasks_recipe,
        source=fingerprint("tokbench.commands.fetch_tasks"),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    message:
        "fetch tasks from the Hugging Face hub"
    shell:
        "tokbench fetch_tasks --recipe {params.recipe:q} -o {output:q} &> {log:q}"


rule import_tasks:
    input:
        targets.local_files,
    output:
        directory("<results>/local_tasks/{suite}"),
    log:
        "<logs>/import_tasks/{suite}.log",
    benchmark:
        "<benchmarks>/import_tasks/{suite}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        recipe=targets.import_tasks_recipe,
        folder=targets.local_folder,
        source=fingerprint("tokbench.commands.import_tasks"),
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    message:
        "import the tasks of {wildcards.suite}"
    shell:
        "tokbench import_tasks --recipe {params.recipe:q} --path {params.folder:q} -o {output:q} &> {log:q}"


rule evaluate:
    input:
        corpus=targets.run_corpus_folder,
        model="<results>/models/{model}/{variant}/{size}",
        tokenizer="<results>/tokenizers/{variant}/{size}",
        tasks=targets.tasks_of,
        hub_cache=targets.hub_cache_of,
    output:
        "<results>/downstream/{model}/{variant}/{size}/{suite}.json",
    log:
        "<logs>/evaluate/{model}/{variant}/{size}/{suite}.log",
    benchmark:
        "<benchmarks>/evaluate/{model}/{variant}/{size}/{suite}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        recipe=targets.suite_recipe,
        inputs=flags,
        device=targets.device_of,
        source=fingerprint("tokbench.commands.evaluate"),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=480,
        gpu=targets.gpus_of,
    message:
        "evaluate {wildcards.model} with {wildcards.variant} at {wildcards.size} on {wildcards.suite}"
    shell:
        "tokbench evaluate {params.inputs:q}"
        " --model-name {wildcards.model} --variant {wildcards.variant} --size {wildcards.size}"
        " --suite {wildcards.suite} --recipe {params.recipe:q} --device {params.device:q}"
        " -o {output:q} -- {input.corpus:q}/evaluation/*.parquet &> {log:q}"
