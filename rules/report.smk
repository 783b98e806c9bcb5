from tokbench.config.targets import all_counted, all_tokenizers, all_trained
from tokbench.options import canonical
from tokbench.report.bibliography import publication_keys
from tokbench.stages.report import ExampleTargets, ValidatedCorpora

tokenizers, counted = all_tokenizers(experiment), all_counted(experiment)
own_text = {"own_text": "<results>/own_text.js"} if experiment.external else {}
examples, validated_corpora = ExampleTargets(experiment), ValidatedCorpora(experiment)


rule cut_examples:
    input:
        records.trigger("cut_examples"),
        tokenizer=collect("<results>/tokenizers/{of.variant}/{of.size}", of=examples.tokenizers),
        corpus=collect("<results>/corpus/{corpus}", corpus=examples.corpora),
    output:
        directory("<results>/examples"),
    log:
        "<logs>/cut_examples.log",
    benchmark:
        "<benchmarks>/cut_examples.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("cut_examples"),
        inputs=flags,
        shards=examples.shards,
        recipe=examples.recipe,
        code=code.of("cut_examples"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(30),
    message:
        "tokenize the example sentences of the report"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench cut_examples {params.inputs:q} {params.shards:q} --recipe {params.recipe:q} -o {output:q} &> {log:q}"


rule draw:
    input:
        records.trigger("draw"),
        experiment="<results>/experiment/report.json",
        tables="<results>/tables",
        statistics="<results>/statistics",
    output:
        report(
            directory("<results>/figures"),
            patterns=["{figure}.svg"],
            caption="../report/figures.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        "<logs>/draw.log",
    benchmark:
        "<benchmarks>/draw.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("draw"),
        inputs=flags,
        code=code.of("draw"),
    priority: 1  # The page links to the results, so they start before it.
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(30),
    message:
        "draw the figures"
    shell:
        "TOKBENCH_JOB={params.job:q} " "tokbench draw {params.inputs:q} -o {output:q} &> {log:q}"


rule typeset:
    localrule: True
    input:
        records.trigger("typeset"),
        experiment="<results>/experiment/report.json",
        tables="<results>/tables",
        statistics="<results>/statistics",
    output:
        report(
            directory("<results>/typeset"),
            patterns=["{table}.csv"],
            caption="../report/tables.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
    log:
        "<logs>/typeset.log",
    benchmark:
        "<benchmarks>/typeset.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("typeset"),
        inputs=flags,
        code=code.of("typeset"),
    priority: 1  # The page links to the results, so they start before it.
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(30),
    message:
        "typeset the tables"
    shell:
        "TOKBENCH_JOB={params.job:q} " "tokbench typeset {params.inputs:q} -o {output:q} &> {log:q}"


rule report:
    input:
        records.trigger("report"),
        experiment="<results>/experiment/report.json",
        tables="<results>/tables",
        statistics="<results>/statistics",
        examples=["<results>/examples"] if examples.any else [],
        tokenizer=collect("<results>/tokenizers/{of.variant}/{of.size}", of=examples.tokenizers),
        speed=collect("<results>/speeds/{of.variant}/{of.size}/{of.on}.json", of=counted),
        prepared=collect("<results>/corpus/{corpus}", corpus=list(dict.fromkeys(of.on for of in counted))),
        leaderboard="<results>/leaderboard.json",
    output:
        **own_text,
        page=report("<results>/report.html", caption="../report/report.rst", category="Report"),
    log:
        "<logs>/report.log",
    benchmark:
        "<benchmarks>/report.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("report"),
        inputs=flags,
        expected=records.input_digests,
        script=lambda wildcards, output: ["--own-text", output.own_text] if own_text else [],
        code=code.of("report"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(30),
    message:
        "write the report"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench report {params.inputs:q} --expected {params.expected:q} {params.script:q} -o {output.page:q} &> {log:q}"


rule leaderboard:
    localrule: True
    input:
        records.trigger("leaderboard"),
        statistics="<results>/statistics",
        tokenizer=collect("<results>/tokenizers/{of.variant}/{of.size}", of=tokenizers),
        documents=collect("<results>/corpus/{corpus}", corpus=validated_corpora.documents),
        counts=collect("<results>/pretokens/{counts}.parquet", counts=validated_corpora.counts),
        model=collect("<results>/models/{of.model}/{of.variant}/{of.size}", of=all_trained(experiment)),
    output:
        json="<results>/leaderboard.json",
        csv="<results>/leaderboard.csv",
    log:
        "<logs>/leaderboard.log",
    benchmark:
        "<benchmarks>/leaderboard.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("leaderboard"),
        inputs=flags,
        name=experiment.name,
        code=code.of("leaderboard"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(60),
    message:
        "write the leaderboard: the scoreboard with its provenance, for other sites"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench leaderboard --name {params.name:q} {params.inputs:q} --table {output.csv:q} -o {output.json:q}"
        " &> {log:q}"


rule cite:
    localrule: True
    input:
        records.trigger("cite"),
    output:
        "<results>/references.bib",
    log:
        "<logs>/cite.log",
    benchmark:
        "<benchmarks>/cite.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("cite"),
        cited=lambda wildcards: canonical(publication_keys(experiment)),
        code=code.of("cite"),
    threads: 1
    resources:
        mem_mb=double_on_retry(1000),
        runtime=extend_on_retry(10),
    message:
        "write the references of methods and data"
    shell:
        "TOKBENCH_JOB={params.job:q} " "tokbench cite --cited {params.cited:q} -o {output:q} &> {log:q}"
