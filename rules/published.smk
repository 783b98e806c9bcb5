rule published:
    input:
        records.trigger("published"),
        released=local(experiment.released) if experiment.released else [],
    output:
        numbers="<results>/published.csv",
        folder=report(
            directory("<results>/published"),
            patterns=["figures/{figure}.svg"],
            caption="../report/published.rst",
            category="Published",
            labels={"figure": "{figure}"},
        ),
    log:
        "<logs>/published.log",
    benchmark:
        "<benchmarks>/published.tsv"
    conda:
        "../envs/tokenizers.yaml"
    params:
        job=records.of("published"),
        inputs=flags,
        content=content_of(lambda wildcards: [experiment.released] if experiment.released else []),
        kept=experiment.published,
        code=code.of("published"),
    threads: 1
    resources:
        mem_mb=double_on_retry(2000),
        runtime=extend_on_retry(30),
    message:
        "recompute the numbers of the papers"
    shell:
        "TOKBENCH_JOB={params.job:q} "
        "tokbench published {params.inputs:q} --numbers {output.numbers:q} -o {output.folder:q}"
        " --keep {params.kept:q} &> {log:q}"
