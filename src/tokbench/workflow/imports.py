"""What the rules ask of an experiment's tokenizers that were made elsewhere: their files, and what these do not say."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokbench.adapters.forms.beside_ranks import beside
from tokbench.adapters.forms.transformers import FILES as FOLDER
from tokbench.adapters.forms.transformers import RANKS
from tokbench.adapters.hub import FILES
from tokbench.adapters.libraries import MODULES
from tokbench.config.elsewhere import MadeElsewhere
from tokbench.config.experiment import Experiment
from tokbench.inputs.endings import COMPRESSED
from tokbench.workflow.canonical import canonical
from tokbench.workflow.corpus import shard_names
from tokbench.workflow.fingerprint import fingerprint

BESIDE = tuple(f"vocab.json{ending}" for ending in ("", *COMPRESSED))
"""What is read beside a file of merges."""


@dataclass(frozen=True)
class Imports:
    """The tokenizers of one experiment that were made elsewhere; wildcards name one, or the digest of a fetched one."""

    experiment: Experiment

    @property
    def names(self) -> str:
        """Their names, as a pattern."""
        return "|".join(self.experiment.elsewhere) or "(?!)"

    def files(self, wildcards: Any) -> list[str]:
        """The user's files that a tokenizer is read from; none of one on the hub."""
        variant = self._variant(wildcards)
        if variant.revision is not None:
            return []
        place = Path(variant.path or "")
        if place.is_dir():
            names = ("merges.txt*", "vocab.json*") if variant.form == "merges" else tuple(f"{name}*" for name in FILES)
            return sorted({str(file) for name in names for file in place.glob(name) if file.is_file()})
        near = [place.parent / name for name in BESIDE] if variant.form == "merges" else []
        if variant.form == "tiktoken" and (settings := beside(place)) is not None:
            near.append(settings)
        return [str(place), *(str(file) for file in near if file.is_file())]

    def digest(self, wildcards: Any) -> list[str]:
        """Names what is fetched of a hub, so that experiments share it; none for files of the user."""
        variant = self._variant(wildcards)
        return [_digest(variant)] if variant.revision is not None else []

    def fetch_recipe(self, wildcards: Any) -> str:
        """Name and revision of the one on the hub that has this digest."""
        hub = (variant for variant in self.experiment.elsewhere.values() if variant.revision is not None)
        return canonical(_named(next(variant for variant in hub if _digest(variant) == wildcards.digest)))

    def path(self, wildcards: Any, input: Any) -> str:
        """Where the tokenizer lies: the user's file or folder, or what was fetched."""
        variant = self._variant(wildcards)
        return str(variant.path) if variant.revision is None else str(input.fetched)

    def options(self, wildcards: Any) -> list[str]:
        """Its form, and what its file does not say, as flags of the command line."""
        variant = self._variant(wildcards)
        given = {"from": variant.form, "pattern": variant.pattern, "segmentation": variant.segmentation}
        given |= {"added": variant.added, "end-of-text": variant.end_of_text}
        special = sorted((variant.special_tokens or {}).items(), key=lambda one: one[1])
        return [
            *(f"--{key}={value}" for key, value in given.items() if value is not None),
            *(f"--special={name}={number}" for name, number in special),
        ]

    def check(self, wildcards: Any, input: Any) -> list[str]:
        """The shards of the evaluation split on which it is checked, as flags."""
        corpus = self.experiment.corpus_of(wildcards.variant)
        return [f"--check={input.corpus}/evaluation/{shard}.parquet" for shard in shard_names(self.experiment, corpus)]

    def source(self, wildcards: Any) -> str:
        """Fingerprint of the reader of its form and of what it is held against."""
        libraries = (f"tokbench.adapters.libraries.{module}" for module in MODULES.values())
        form = self._variant(wildcards).form
        names = sorted({form, *FOLDER.values(), RANKS}) if form == "transformers" else [form]
        forms = (f"tokbench.adapters.forms.{name}" for name in names)
        return fingerprint(
            "tokbench.adapters.read:import_tokenizer", "tokbench.corpus.text_files:read_files", *forms, *libraries
        )

    def _variant(self, wildcards: Any) -> MadeElsewhere:
        return self.experiment.elsewhere[wildcards.variant]


def _named(variant: MadeElsewhere) -> dict[str, str | None]:
    return {"path": variant.path, "revision": variant.revision}


def _digest(variant: MadeElsewhere) -> str:
    return hashlib.sha256(canonical(_named(variant)).encode()).hexdigest()[:16]
