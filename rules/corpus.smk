from tokbench.workflow.corpus import Corpora

corpora = Corpora(experiment)


rule fetch:
    output:
        "<resources>/hub/{digest}.parquet",
    log:
        "<logs>/fetch/{digest}.log",
    benchmark:
        "<benchmarks>/fetch/{digest}.tsv"
    conda:
        "../envs/language_models.yaml"
    params:
        recipe=corpora.fetch_recipe,
        source=fingerprint("tokbench.commands.fetch"),
    threads: 1
    resources:
        mem_mb=doubling(4000),
        runtime=lengthening(720),
    message:
        "fetch a corpus from the Hugging Face hub"
    shell:
        "tokbench fetch --recipe {params.recipe:q} -o {output:q} &> {log:q}"


rule prepare:
    input:
        corpora.files,
        collect("<resources>/hub/{digest}.parquet", digest=corpora.digest),
    output:
        directory("<results>/corpus/{corpus}"),
    log:
        "<logs>/prepare/{corpus}.log",
    benchmark:
        "<benchmarks>/prepare/{corpus}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        recipe=corpora.recipe,
        source=fingerprint("tokbench.commands.prepare"),
    threads: 1
    resources:
        mem_mb=doubling(2000),
        runtime=lengthening(240),
    message:
        "prepare corpus {wildcards.corpus}"
    shell:
        "tokbench prepare --memory {resources.mem_mb:q} --recipe {params.recipe:q} -o {output:q} -- {input:q} &> {log:q}"
