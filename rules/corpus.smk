from tokbench.workflow.corpora import Corpora

corpora = Corpora(experiment)


rule fetch:
    input:
        records.trigger("fetch"),
    output:
        "<resources>/hub/{digest}.parquet",
    log:
        "<logs>/fetch/{digest}.log",
    benchmark:
        "<benchmarks>/fetch/{digest}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("fetch"),
        recipe=corpora.fetch_recipe,
        code=code.of("fetch"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(720),
    message:
        "download a corpus from the Hugging Face hub"
    shell:
        "TOKBENCH_JOB={params.job:q} " "tokbench fetch --recipe {params.recipe:q} -o {output:q} &> {log:q}"


rule fetch_pairs:
    input:
        records.trigger("fetch_pairs"),
    output:
        "<resources>/hub_pairs/{digest}.parquet",
    log:
        "<logs>/fetch_pairs/{digest}.log",
    benchmark:
        "<benchmarks>/fetch_pairs/{digest}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("fetch_pairs"),
        recipe=corpora.pairs_recipe,
        code=code.of("fetch_pairs"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(720),
    message:
        "download sentence pairs from the Hugging Face hub"
    shell:
        "TOKBENCH_JOB={params.job:q} " "tokbench fetch_pairs --recipe {params.recipe:q} -o {output:q} &> {log:q}"


rule read_sizes:
    input:
        records.trigger("read_sizes"),
        files=ancient(local(corpora.files_of_part)),
        hub=collect("<resources>/hub/{digest}.parquet", digest=corpora.digest_of_part),
    output:
        "<results>/parts/{corpus}/sizes/{part}.parquet",
    log:
        "<logs>/read_sizes/{corpus}/{part}.log",
    benchmark:
        "<benchmarks>/read_sizes/{corpus}/{part}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("read_sizes"),
        content=content_of(corpora.files_of_part),
        recipe=corpora.sizes_recipe,
        begin=corpora.begin,
        end=corpora.end,
        code=code.of("read_sizes"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(240),
    message:
        "read document sizes of corpus {wildcards.corpus}, part {wildcards.part}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench read_sizes --memory {resources.mem_mb:q} --recipe {params.recipe:q} --begin {params.begin:q}"
        " --end {params.end:q} -o {output:q} -- {input.files:q} {input.hub:q} &> {log:q}"


rule split_corpus:
    input:
        records.trigger("split_corpus"),
        sizes=collect("<results>/parts/{{corpus}}/sizes/{part}.parquet", part=corpora.parts),
        units=ancient(local(corpora.units)),
    output:
        temp(directory("<results>/parts/{corpus}/places")),
    log:
        "<logs>/split_corpus/{corpus}.log",
    benchmark:
        "<benchmarks>/split_corpus/{corpus}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("split_corpus"),
        content=content_of(corpora.units),
        recipe=corpora.split_recipe,
        units=lambda wildcards, input: ["--units", *input.units] if input.units else [],
        code=code.of("split_corpus"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(240),
    message:
        "assign documents of corpus {wildcards.corpus} to splits"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench split_corpus --memory {resources.mem_mb:q} --recipe {params.recipe:q} {params.units:q} -o {output:q}"
        " -- {input.sizes:q} &> {log:q}"


rule deal_part:
    input:
        records.trigger("deal_part"),
        files=ancient(local(corpora.files_of_part)),
        hub=collect("<resources>/hub/{digest}.parquet", digest=corpora.digest_of_part),
        places="<results>/parts/{corpus}/places",
    output:
        temp("<results>/parts/{corpus}/queues/{part}.parquet"),
    log:
        "<logs>/deal_part/{corpus}/{part}.log",
    benchmark:
        "<benchmarks>/deal_part/{corpus}/{part}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("deal_part"),
        content=content_of(corpora.files_of_part),
        recipe=corpora.deal_recipe,
        begin=corpora.begin,
        end=corpora.end,
        code=code.of("deal_part"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(240),
    message:
        "sort texts of corpus {wildcards.corpus} by shard, part {wildcards.part}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench deal_part --memory {resources.mem_mb:q} --recipe {params.recipe:q} --begin {params.begin:q}"
        " --end {params.end:q} --places {input.places:q}/{wildcards.part}.parquet -o {output:q}"
        " -- {input.files:q} {input.hub:q} &> {log:q}"


rule write_shards:
    input:
        records.trigger("write_shards"),
        queues=collect("<results>/parts/{{corpus}}/queues/{part}.parquet", part=corpora.parts),
        places="<results>/parts/{corpus}/places",
    output:
        temp(directory("<results>/parts/{corpus}/shards/{group}")),
    log:
        "<logs>/write_shards/{corpus}/{group}.log",
    benchmark:
        "<benchmarks>/write_shards/{corpus}/{group}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("write_shards"),
        recipe=corpora.shards_recipe,
        group=lambda wildcards: int(wildcards.group),
        code=code.of("write_shards"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(240),
    message:
        "write shards of corpus {wildcards.corpus}, group {wildcards.group}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench write_shards --memory {resources.mem_mb:q} --recipe {params.recipe:q} --group {params.group:q}"
        " --places {input.places:q} -o {output:q} -- {input.queues:q} &> {log:q}"


rule prepare:
    input:
        records.trigger("prepare"),
        files=ancient(local(corpora.files_at_once)),
        parallel=collect("<results>/parallel/{parallel}", parallel=corpora.parallel),
        hub=collect("<resources>/hub/{digest}.parquet", digest=corpora.digest_at_once),
        shards=collect("<results>/parts/{{corpus}}/shards/{group}", group=corpora.groups),
        units=ancient(local(corpora.units_at_once)),
    output:
        directory("<results>/corpus/{corpus}"),
    log:
        "<logs>/prepare/{corpus}.log",
    benchmark:
        "<benchmarks>/prepare/{corpus}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("prepare"),
        content=content_of(corpora.contents_at_once),
        recipe=lambda wildcards, input: corpora.recipe(wildcards),
        settings=corpora.settings,
        units=lambda wildcards, input: ["--units", *input.units] if input.units else [],
        code=code.of("prepare"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(240),
    message:
        "prepare corpus {wildcards.corpus}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench prepare --memory {resources.mem_mb:q} --recipe {params.recipe:q} {params.units:q} -o {output:q}"
        " -- {input.files:q} {input.parallel:q} {input.hub:q} {input.shards:q} &> {log:q}"


rule prepare_parallel:
    input:
        records.trigger("prepare_parallel"),
        files=ancient(local(corpora.parallel_files)),
        hub=collect("<resources>/hub_pairs/{digest}.parquet", digest=corpora.parallel_digests),
    output:
        directory("<results>/parallel/{parallel}"),
    log:
        "<logs>/prepare_parallel/{parallel}.log",
    benchmark:
        "<benchmarks>/prepare_parallel/{parallel}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("prepare_parallel"),
        content=content_of(corpora.parallel_files),
        recipe=lambda wildcards, input: corpora.parallel_recipe(wildcards),
        settings=corpora.parallel_settings,
        code=code.of("prepare_parallel"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(240),
    message:
        "prepare parallel corpus {wildcards.parallel}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench prepare_parallel --memory {resources.mem_mb:q} --recipe {params.recipe:q} -o {output:q} -- {input.files:q} {input.hub:q}"
        " &> {log:q}"
