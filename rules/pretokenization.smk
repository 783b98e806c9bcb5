from tokbench.workflow.corpora import Corpora, CountingTargets

corpora, pretokenization = Corpora(experiment), CountingTargets(experiment)


rule count_split:
    input:
        records.trigger("count_split"),
        corpus="<results>/corpus/{corpus}",
    output:
        "<results>/pretokens/{corpus}/{split}/{scheme}.parquet",
    wildcard_constraints:
        corpus=pretokenization.small_corpora,
    log:
        "<logs>/count_split/{corpus}/{split}/{scheme}.log",
    benchmark:
        "<benchmarks>/count_split/{corpus}/{split}/{scheme}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("count_split"),
        shards=pretokenization.files,
        pretokenization=pretokenization.setting,
        code=code.of("count_split"),
    threads: 1
    resources:
        mem_mb=double_on_retry(8000),
        runtime=extend_on_retry(240),
    message:
        "count pre-tokens of {wildcards.corpus}/{wildcards.split} with {wildcards.scheme}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench count --pretokenization {params.pretokenization:q} --memory {resources.mem_mb:q} -o {output:q}"
        " -- {params.shards:q} &> {log:q}"


rule count:
    input:
        records.trigger("count"),
        corpus="<results>/corpus/{corpus}",
    output:
        temp("<results>/pretokens/{corpus}/{split}/{scheme}/{shard}.parquet"),
    log:
        "<logs>/count/{corpus}/{split}/{scheme}/{shard}.log",
    benchmark:
        "<benchmarks>/count/{corpus}/{split}/{scheme}/{shard}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("count"),
        pretokenization=pretokenization.setting,
        code=code.of("count"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(120),
    message:
        "count pre-tokens of {wildcards.corpus}/{wildcards.split} with {wildcards.scheme}, shard {wildcards.shard}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench count --pretokenization {params.pretokenization:q} --memory {resources.mem_mb:q} -o {output:q}"
        " -- {input.corpus:q}/{wildcards.split}/{wildcards.shard}.parquet &> {log:q}"


rule merge_part:
    input:
        records.trigger("merge_part"),
        counts=collect(
            "<results>/pretokens/{{corpus}}/{{split}}/{{scheme}}/{shard}.parquet", shard=pretokenization.shards_of_part
        ),
    output:
        temp("<results>/pretokens/{corpus}/{split}/{scheme}/part/{part}.parquet"),
    log:
        "<logs>/merge_part/{corpus}/{split}/{scheme}/{part}.log",
    benchmark:
        "<benchmarks>/merge_part/{corpus}/{split}/{scheme}/{part}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("merge_part"),
        code=code.of("merge_part"),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    message:
        "merge counts of {wildcards.corpus}/{wildcards.split} with {wildcards.scheme}, part {wildcards.part}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench merge_counts --memory {resources.mem_mb:q} -o {output:q} -- {input.counts:q} &> {log:q}"


rule merge_counts:
    input:
        records.trigger("merge_counts"),
        counts=collect(
            "<results>/pretokens/{{corpus}}/{{split}}/{{scheme}}/part/{part}.parquet", part=pretokenization.parts
        ),
    output:
        "<results>/pretokens/{corpus}/{split}/{scheme}.parquet",
    wildcard_constraints:
        corpus=pretokenization.large_corpora,
    log:
        "<logs>/merge_counts/{corpus}/{split}/{scheme}.log",
    benchmark:
        "<benchmarks>/merge_counts/{corpus}/{split}/{scheme}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("merge_counts"),
        code=code.of("merge_counts"),
    threads: 1
    resources:
        mem_mb=double_on_retry(8000),
        runtime=extend_on_retry(120),
    message:
        "merge counts of {wildcards.corpus}/{wildcards.split} with {wildcards.scheme}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench merge_counts --memory {resources.mem_mb:q} -o {output:q} -- {input.counts:q} &> {log:q}"


rule import_counts:
    input:
        records.trigger("import_counts"),
        files=ancient(local(corpora.files)),
    output:
        "<results>/pretokens/{corpus}/{split}/{scheme}.parquet",
    wildcard_constraints:
        corpus=pretokenization.corpora_of_counts,
    log:
        "<logs>/import_counts/{corpus}/{split}/{scheme}.log",
    benchmark:
        "<benchmarks>/import_counts/{corpus}/{split}/{scheme}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("import_counts"),
        content=content_of(corpora.files),
        pretokenization=pretokenization.setting,
        code=code.of("import_counts"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(60),
    message:
        "import the counts of {wildcards.corpus} as {wildcards.scheme}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench import_counts --pretokenization {params.pretokenization:q} --memory {resources.mem_mb:q} -o {output:q}"
        " -- {input.files:q} &> {log:q}"
