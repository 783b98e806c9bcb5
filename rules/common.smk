# What the rules ask of the configuration: canonical recipes, fingerprints of the code behind a method, and targets.
import sys

from tokbench.config.fingerprint import fingerprint
from tokbench.config.load import read_all
from tokbench.config.targets import Targets, canonical, flags
from tokbench.registry import TokbenchError

try:
    experiment = read_all(workflow.configfiles, workflow.config_settings.config)
except TokbenchError as error:
    sys.exit(f"tokbench: {error}")

targets = Targets(experiment)


wildcard_constraints:
    corpus="|".join(experiment.corpora),
    split="tokenizer|evaluation",
    scheme=r"\w+",
    resource=r"[\w-]+",
    shard=r"\d{4}",
    byte_lm=r"[\w-]+",
    initial=r"\w+",
    variant="|".join(experiment.variants),
    size=r"\d+",
    length=r"\d+",
    model=r"[\w-]+",
    suite=r"[\w-]+",
    digest="[0-9a-f]{16}",
