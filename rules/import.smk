# External tokenizers, imported unchanged.
from tokbench.workflow.tokenizers import Imports, Variants

imports, variants = Imports(experiment), Variants(experiment)


rule fetch_tokenizer:
    input:
        records.trigger("fetch_tokenizer"),
    output:
        directory("<resources>/tokenizers/{digest}"),
    log:
        "<logs>/fetch_tokenizer/{digest}.log",
    benchmark:
        "<benchmarks>/fetch_tokenizer/{digest}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("fetch_tokenizer"),
        recipe=imports.fetch_recipe,
        code=code.of("fetch_tokenizer"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(60),
    message:
        "download a tokenizer from the Hugging Face hub"
    shell:
        "TOKBENCH_JOB={params.job:q} " "tokbench fetch_tokenizer --recipe {params.recipe:q} -o {output:q} &> {log:q}"


rule import:
    input:
        records.trigger("import"),
        ancient(local(imports.files)),
        fetched=collect("<resources>/tokenizers/{digest}", digest=imports.digest),
        corpus=collect("<results>/corpus/{corpus}", corpus=variants.corpus),
    output:
        directory("<results>/tokenizers/{variant}/own"),
    wildcard_constraints:
        variant=imports.names,
    log:
        "<logs>/import/{variant}.log",
    benchmark:
        "<benchmarks>/import/{variant}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("import"),
        content=content_of(imports.files),
        path=imports.path,
        options=imports.options,
        check=imports.check,
        code=code.of("import"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(240),
    message:
        "import the external tokenizer {wildcards.variant}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench import {params.options:q} {params.check:q} --limit 0 --name {wildcards.variant}"
        " -o {output:q} -- {params.path:q} &> {log:q}"
