# What the rules ask of the configuration: canonical recipes, fingerprints of the code behind a method, and targets.
import sys

from tokbench.config.fingerprint import fingerprint
from tokbench.config.load import read_all
from tokbench.config.targets import Targets, canonical, flags
from tokbench.faults import told

try:
    experiment = read_all(workflow.configfiles, workflow.config_settings.config)
except Exception as error:
    sys.exit(told(error)[0])

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
