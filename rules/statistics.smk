from tokbench.workflow.targets import (
    all_along,
    all_bounds,
    all_counted,
    all_evaluated,
    all_measured,
    all_tested,
    all_tokenizers,
    all_trained,
    baseline_flags,
    document_targets,
    overlap_flags,
    pilot_flags,
    pilot_tables,
    splits_made_from,
    unit_flags,
    unit_tables,
    recipes,
    venn_flags,
)

bounds, beside, counted = all_bounds(experiment), all_measured(experiment), all_counted(experiment)
tokenizers, trained, tested = all_tokenizers(experiment), all_trained(experiment), all_tested(experiment)


rule find_leakage:
    input:
        records.trigger("find_leakage"),
        corpus="<results>/corpus/{corpus}",
        others=collect(
            "<results>/corpus/{of}",
            of=lambda wildcards: [name for name, _ in splits_made_from(experiment, wildcards.corpus)],
        ),
    output:
        "<results>/leakage/{corpus}.json",
    log:
        "<logs>/find_leakage/{corpus}.log",
    benchmark:
        "<benchmarks>/find_leakage/{corpus}.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("find_leakage"),
        splits=lambda wildcards, input: [
            f"{folder}/{split}"
            for folder, (_, split) in zip(input.others, splits_made_from(experiment, wildcards.corpus))
        ],
        code=fingerprint(
            "tokbench.corpus.documents:read_documents",
            "tokbench.corpus.leakage:find_leakage",
        ),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(120),
    message:
        "search other splits for evaluation text of {wildcards.corpus}"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench find_leakage --memory {resources.mem_mb:q} -o {output:q}"
        " -- {input.corpus:q}/evaluation {params.splits:q} &> {log:q}"


rule tabulate:
    input:
        records.trigger("tabulate"),
        intrinsic=collect("<results>/intrinsic/{of.variant}/{of.size}.json", of=tokenizers)
        + collect("<results>/intrinsic/{of.variant}/{of.size}/{on}.json", on=experiment.resources, of=tokenizers)
        + collect("<results>/intrinsic/{of.variant}/{of.size}/on/{of.on}.json", of=beside)
        + collect("<results>/document_metrics/{of.variant}/{of.size}/{of.on}.json", of=document_targets(experiment)),
        tokenizer=collect("<results>/tokenizers/{of.variant}/{of.size}", of=tokenizers),
        tokens=collect("<results>/tokens/{of.variant}/{of.size}/{of.on}.json", of=counted),
        words=collect("<results>/words/{of.variant}/{of.size}/{on}.json", on=experiment.resources, of=tokenizers),
        bound=collect("<results>/bounds/{of.corpus}/{of.scheme}/{of.size}.json", of=bounds),
        ngram_bits=collect("<results>/ngram_bits/{of.variant}/{of.size}.json", of=ngram_models.tokenizers)
        + collect("<results>/ngram_bits/{of.variant}/{of.size}/{of.on}.json", of=ngram_models.tokenizers_on_others),
        token_scores=collect("<results>/token_scores/{of.model}/{of.variant}/{of.size}.json", of=token_effects.models),
        robustness=collect("<results>/robustness/{of.variant}/{of.size}.json", of=robustness.tokenizers),
        embeddings=collect("<results>/embeddings/{of.model}/{of.variant}/{of.size}", of=trained),
        model=collect("<results>/models/{of.model}/{of.variant}/{of.size}", of=trained),
        downstream=collect("<results>/downstream/{of.model}/{of.variant}/{of.size}/{of.suite}.json", of=tested),
        convergence=collect(
            "<results>/convergence/{of.model}/{of.variant}/{of.size}/{of.share}/{of.suite}.json",
            of=all_along(experiment),
        ),
        translation=collect("<results>/translation_scores/{of.path}/{of.test}.json", of=translations.tested),
        translation_embeddings=collect("<results>/translation_embeddings/{of.path}", of=translations.trained),
        parallel=collect("<results>/parallel/{parallel}", parallel=experiment.parallel_corpora),
        leakage=collect("<results>/leakage/{corpus}.json", corpus=all_evaluated(experiment)),
    output:
        directory("<results>/tables"),
    log:
        "<logs>/tabulate.log",
    benchmark:
        "<benchmarks>/tabulate.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("tabulate"),
        inputs=flags,
        expected=records.expected,
        baseline=baseline_flags(experiment),
        venn=venn_flags(experiment),
        overlaps=overlap_flags(experiment),
        code=fingerprint("tokbench.tabulation.results:tabulate", "tokbench.tabulation.table:write_tables"),
    threads: 1
    resources:
        mem_mb=double_on_retry(4000),
        runtime=extend_on_retry(60),
    message:
        "write the tables"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench tabulate {params.inputs:q} --expected {params.expected:q} {params.baseline:q} {params.venn:q}"
        " {params.overlaps:q} -o {output:q} &> {log:q}"


rule power:
    input:
        records.trigger("power"),
        pilot_tables(experiment),
    output:
        directory("<results>/power"),
    log:
        "<logs>/power.log",
    benchmark:
        "<benchmarks>/power.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("power"),
        content=content_of(lambda wildcards: pilot_tables(experiment)),
        pilot=experiment.statistics.pilot,
        detect=experiment.statistics.detect,
        code=fingerprint("tokbench.statistics.planning.seed_plan:seed_tables", "tokbench.tabulation.table:write_tables"),
    priority: 2
    threads: 1
    resources:
        mem_mb=double_on_retry(1000),
        runtime=extend_on_retry(10),
    message:
        "compute the number of seeds needed"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench power --detect {params.detect:q} -o {output:q} -- {params.pilot:q} &> {log:q}"


rule analyse:
    input:
        records.trigger("analyse"),
        tables="<results>/tables",
        pilot=pilot_tables(experiment),
        units=unit_tables(experiment),
    output:
        directory("<results>/statistics"),
    log:
        "<logs>/analyse.log",
    benchmark:
        "<benchmarks>/analyse.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("analyse"),
        content=content_of(lambda wildcards: pilot_tables(experiment) + unit_tables(experiment)),
        recipes=lambda wildcards: recipes(experiment),
        baseline=baseline_flags(experiment),
        pilot=pilot_flags(experiment),
        units=unit_flags(experiment),
        code=fingerprint("tokbench.statistics.inputs:analyse", "tokbench.tabulation.table:write_tables"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(30),
    message:
        "compute the statistics"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench analyse --recipes {params.recipes:q} {params.baseline:q} {params.pilot:q} {params.units:q}"
        " -o {output:q} -- {input.tables:q} &> {log:q}"
