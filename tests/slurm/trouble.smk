# Jobs that a cluster refuses, keeps waiting, kills or is told to cancel.
from tokbench.workflow.resources import double_on_retry, extend_on_retry


rule all:
    input:
        "greedy",
        "slow",
        "long",
        "large",
        "cancelled",


rule greedy:
    output:
        "greedy",
    resources:
        mem_mb=double_on_retry(500),
        runtime=extend_on_retry(5),
    message:
        "hold 600 MB"
    shell:
        "python -c \"import time; held = b'x' * (600 << 20); time.sleep(5)\" && touch {output}"


rule slow:
    output:
        "slow",
    resources:
        mem_mb=500,
        runtime=extend_on_retry(1),
    message:
        "take more than a minute"
    shell:
        "test -e slowed || {{ touch slowed; sleep 240; }}; touch {output}"


rule long:
    output:
        "long",
    resources:
        mem_mb=500,
        runtime=20000,
    message:
        "ask for two weeks"
    shell:
        "touch {output}"


rule large:
    output:
        "large",
    resources:
        mem_mb=900000,
    message:
        "ask for more than a node has"
    shell:
        "touch {output}"


rule cancelled:
    output:
        "cancelled",
    resources:
        mem_mb=500,
        runtime=5,
    message:
        "be cancelled once"
    shell:
        "test -e started || {{ touch started; sleep 240; }}; touch {output}"
