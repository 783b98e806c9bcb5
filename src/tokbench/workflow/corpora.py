"""Parameters and inputs of the rules for corpora and for the counting of pre-tokens."""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tokbench.config.corpus import LONGEST_DOCUMENT
from tokbench.config.experiment import Experiment
from tokbench.corpus.parallel import FetchedPairs
from tokbench.corpus.parts import SourcePart, groups_of, parts_of
from tokbench.corpus.source_files import files_of, tagged_files
from tokbench.corpus.sources import FileSource, HubSource, ParallelSource, Source
from tokbench.io.encodings import UTF_8
from tokbench.options import canonical
from tokbench.pretokenization import Pretokenization as Scheme
from tokbench.pretokenization import pretokenization_of
from tokbench.workflow.shell import canonical_setting


@dataclass(frozen=True)
class Corpora:
    """The corpora of one experiment; wildcards name one, or the digest of a downloaded one."""

    experiment: Experiment
    _known_parts: dict[str, list[tuple[str, SourcePart]]] = field(default_factory=dict)

    def digest(self, wildcards: Any) -> list[str]:
        """Return the digests of a corpus's hub sources, so that experiments share downloads."""
        return [_digest(source) for source in self._sources(wildcards).values() if isinstance(source, HubSource)]

    def fetch_recipe(self, wildcards: Any) -> str:
        """Return the recipe of the hub source with this digest."""
        corpora = self.experiment.corpora.values()
        sources = [source for corpus in corpora for source in corpus.named_sources.values()]
        hub = (source for source in sources if isinstance(source, HubSource))
        return canonical(_recipe(next(source for source in hub if _digest(source) == wildcards.digest)))

    def files(self, wildcards: Any) -> list[str]:
        """Return the user's files of a corpus."""
        sources = [source for source in self._sources(wildcards).values() if isinstance(source, FileSource)]
        return [str(path) for source in sources for path in files_of(source)]

    def parallel(self, wildcards: Any) -> list[str]:
        """Return the parallel corpus whose sides a corpus contains; empty for other sources."""
        return [source.corpus for source in self._sources(wildcards).values() if isinstance(source, ParallelSource)]

    def recipe(self, wildcards: Any) -> str:
        """Return sources, splits, shards and seed. Files of a single source are inputs of the rule, not part of it."""
        recipe = self._recipe(wildcards)
        if "source" in recipe and not isinstance(recipe["source"].get("path"), dict):
            recipe["source"].pop("path", None)
        if recipe["parts"] == 1:
            del recipe["parts"]
        return canonical({**recipe, "seed": self.experiment.seed})

    def settings(self, wildcards: Any) -> str:
        """Return the recipe with the tags of files in place of their paths, so that files may be moved."""
        recipe = json.loads(self.recipe(wildcards))
        for name, source in self._sources(wildcards).items():
            values = _source_in(recipe, name)
            if isinstance(source, FileSource) and "path" in values:
                values["path"] = [tag for tag, _ in tagged_files(source)]
        return canonical(recipe)

    def parallel_settings(self, wildcards: Any) -> str:
        """Return the recipe of a parallel corpus without the paths of its files."""
        return canonical(_without_paths(json.loads(self.parallel_recipe(wildcards))))

    def parallel_recipe(self, wildcards: Any) -> str:
        """Return languages, files, splits, rules and seed of a parallel corpus."""
        corpus = self.experiment.parallel_corpora[wildcards.parallel]
        return canonical({**corpus.model_dump(mode="json"), "seed": self.experiment.seed})

    def parallel_files(self, wildcards: Any) -> list[str]:
        """Return the user's files of a parallel corpus."""
        return [str(path) for path in self.experiment.parallel_corpora[wildcards.parallel].files()]

    def parallel_digests(self, wildcards: Any) -> list[str]:
        """Return the digests of a parallel corpus's downloads, see :meth:`digest`."""
        return [_digest(pairs) for pairs in self.experiment.parallel_corpora[wildcards.parallel].on_hub()]

    def pairs_recipe(self, wildcards: Any) -> str:
        """Return the recipe of the hub pairs with this digest."""
        corpora = self.experiment.parallel_corpora.values()
        hub = (pairs for corpus in corpora for pairs in corpus.on_hub())
        return canonical(next(pairs for pairs in hub if _digest(pairs) == wildcards.digest))

    def files_at_once(self, wildcards: Any) -> list[str]:
        """Return the user's files of a corpus that one job reads."""
        return [] if self._in_parts(wildcards) else self.files(wildcards)

    def units(self, wildcards: Any) -> list[str]:
        """Return the table of units of a corpus, if it has one."""
        path = self.experiment.corpora[wildcards.corpus].units
        return [] if path is None else [str(path)]

    def units_at_once(self, wildcards: Any) -> list[str]:
        """Return the table of units of a corpus that one job reads."""
        return [] if self._in_parts(wildcards) else self.units(wildcards)

    def contents_at_once(self, wildcards: Any) -> list[str]:
        """Return all of the user's files that one job reads."""
        return self.files_at_once(wildcards) + self.units_at_once(wildcards)

    def digest_at_once(self, wildcards: Any) -> list[str]:
        """Return the digests of the hub sources of a corpus that one job reads."""
        return [] if self._in_parts(wildcards) else self.digest(wildcards)

    def parts(self, wildcards: Any) -> list[str]:
        """Return the names of the parts of a corpus, source after source."""
        return _names(self.experiment.corpora[wildcards.corpus].parts * len(self._sources(wildcards)))

    def digest_of_part(self, wildcards: Any) -> list[str]:
        """Return the digest of the hub source that a part is of; empty for other sources."""
        source = self._sources(wildcards)[self._part(wildcards)[0]]
        return [_digest(source)] if isinstance(source, HubSource) else []

    def groups(self, wildcards: Any) -> list[str]:
        """Return the names of the groups of shards that are written together, for a corpus in parts."""
        corpus = self.experiment.corpora[wildcards.corpus]
        splits = sum(not isinstance(share, str) for share in corpus.splits.values())
        return _names(len(groups_of(splits * corpus.shards, corpus.parts))) if self._in_parts(wildcards) else []

    def files_of_part(self, wildcards: Any) -> list[str]:
        """Return the user's files of a part."""
        return [str(file) for _, file in self._part(wildcards)[1].files]

    def begin(self, wildcards: Any) -> str:
        """Return the fraction of the first file that precedes the part."""
        return "{}/{}".format(*self._part(wildcards)[1].span.begin.as_integer_ratio())

    def end(self, wildcards: Any) -> str:
        """Return the fraction of the last file at which the part ends."""
        return "{}/{}".format(*self._part(wildcards)[1].span.end.as_integer_ratio())

    def sizes_recipe(self, wildcards: Any) -> str:
        """Return the options for reading a part, without other options of the corpus."""
        return canonical(
            {**self._document_form(wildcards), "source": self._source_of_part(wildcards, Source.model_fields)}
        )

    def deal_recipe(self, wildcards: Any) -> str:
        """Return the options for reading a part and tagging its documents, and the groups of shards."""
        limits = ("languages", "max_bytes_per_language", "max_documents")
        source = self._source_of_part(wildcards, limits)
        return canonical({**self._division(wildcards), **self._document_form(wildcards), "source": source})

    def split_recipe(self, wildcards: Any) -> str:
        """Return limits, splits, shards and seed."""
        recipe = self._recipe(wildcards)
        for name in self._sources(wildcards):
            _source_in(recipe, name).pop("path", None)
        read = ("duplicates", "source", "sources", "temperature", "sample", "bytes")
        chosen = {key: recipe[key] for key in read if key in recipe}
        division = {**self._division(wildcards), **self._document_form(wildcards)}
        return canonical({**division, **chosen, "seed": self.experiment.seed})

    def shards_recipe(self, wildcards: Any) -> str:
        """Return splits, shards and their groups."""
        return canonical({**self._division(wildcards), "source": "embedded"})

    def shards(self, wildcards: Any) -> list[str]:
        """Return the names of the shards of each split."""
        return shard_names(self.experiment, wildcards.corpus)

    def _in_parts(self, wildcards: Any) -> bool:
        return self.experiment.corpora[wildcards.corpus].parts > 1

    def _recipe(self, wildcards: Any) -> dict[str, Any]:
        """Return a corpus's section without some newer keys at their defaults, so that existing recipes do not
        change."""
        corpus = self.experiment.corpora[wildcards.corpus]
        recipe = corpus.model_dump(mode="json")
        if corpus.longest_document == LONGEST_DOCUMENT:
            del recipe["longest_document"]
        del recipe["units"]
        for key in ("source", "sources", "temperature", "sample", "bytes"):
            if not recipe[key] and recipe[key] != 0:
                del recipe[key]
        if corpus.duplicates == "keep":
            del recipe["duplicates"]
        if corpus.normalize is None:
            del recipe["normalize"]
        for name in corpus.named_sources:
            source = _source_in(recipe, name)
            for key, usual in {"encoding": UTF_8, "bad_lines": "reject"}.items():
                if source.get(key) == usual:
                    del source[key]
        return recipe

    def _document_form(self, wildcards: Any) -> dict[str, Any]:
        """Return the maximum length and the normalization of documents, without defaults."""
        return {
            key: value for key, value in self._recipe(wildcards).items() if key in ("longest_document", "normalize")
        }

    def _division(self, wildcards: Any) -> dict[str, Any]:
        recipe = self._recipe(wildcards)
        return {key: recipe[key] for key in ("splits", "shards", "parts")}

    def _source_of_part(self, wildcards: Any, left_out: Collection[str]) -> dict[str, Any]:
        """Return the source without some keys; a mapping of tags to files is restricted to the part."""
        name, part = self._part(wildcards)
        source = _source_in(self._recipe(wildcards), name)
        tagged: dict[str, list[str]] = {}
        for tag, file in part.files:
            tagged.setdefault(tag, []).append(str(file))
        paths = {"path": tagged} if isinstance(source.get("path"), dict) else {}
        return {key: source[key] for key in source if key not in {*left_out, "path"}} | paths

    def _sources(self, wildcards: Any) -> dict[str, Source]:
        return self.experiment.corpora[wildcards.corpus].named_sources

    def _part(self, wildcards: Any) -> tuple[str, SourcePart]:
        """Return a part and the name of its source."""
        return self._parts(wildcards.corpus)[int(wildcards.part)]

    def _parts(self, name: str) -> list[tuple[str, SourcePart]]:
        """Return the parts of a corpus (cached). Tags are sorted, as they are in recipes."""
        if name not in self._known_parts:
            corpus = self.experiment.corpora[name]
            self._known_parts[name] = []
            for domain, source in corpus.named_sources.items():
                if isinstance(source, FileSource) and isinstance(source.path, dict):
                    source = source.model_copy(update={"path": dict(sorted(source.path.items()))})
                self._known_parts[name] += [(domain, part) for part in parts_of(source, corpus.parts)]
        return self._known_parts[name]


def _source_in(recipe: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the options of a source in a corpus's recipe; the only source has an empty name."""
    source: dict[str, Any] = recipe["sources"][name]["source"] if name else recipe["source"]
    return source


def _without_paths(value: Any) -> Any:
    """Return JSON in which every text below a key ``path`` is empty; content and number of files remain."""
    if not isinstance(value, dict):
        return value
    return {key: _blank(inner) if key == "path" else _without_paths(inner) for key, inner in value.items()}


def _blank(path: Any) -> Any:
    if isinstance(path, dict):
        return {key: _blank(inner) for key, inner in path.items()}
    return [_blank(inner) for inner in path] if isinstance(path, list) else ""


def shard_names(experiment: Experiment, corpus: str) -> list[str]:
    """Return the names of the shards of each split of a corpus."""
    return _names(experiment.corpora[corpus].shards)


def _names(number: int) -> list[str]:
    return [f"{part:04}" for part in range(number)]


def _digest(source: HubSource | FetchedPairs) -> str:
    return hashlib.sha256(canonical(_recipe(source)).encode()).hexdigest()[:16]


def _recipe(source: HubSource | FetchedPairs) -> dict[str, Any]:
    """Return the recipe of a download without a newer key at its default, so that existing downloads are found."""
    recipe = source.model_dump(mode="json")
    if recipe.get("bad_lines") == "reject":
        del recipe["bad_lines"]
    return recipe


SHARDS_AT_ONCE = 16
"""Maximum shards that one job counts, and maximum count files that one job merges. Larger corpora have one job per
shard."""


@dataclass(frozen=True)
class CountingTargets:
    """The counting of pre-tokens in one experiment's corpora."""

    experiment: Experiment

    def setting(self, wildcards: Any) -> str:
        """Return the pre-tokenization with its options, for its name in paths."""
        return canonical_setting(self._scheme(wildcards))

    def _scheme(self, wildcards: Any) -> Scheme:
        return self._schemes.get(wildcards.scheme) or pretokenization_of(wildcards.scheme)

    @cached_property
    def _schemes(self) -> dict[str, Scheme]:
        """Pre-tokenizations of the built variants, by their names in paths."""
        used = [pretokenization_of(variant.pretokenization) for variant in self.experiment.built.values()]
        return {scheme.slug: scheme for scheme in used}

    def files(self, wildcards: Any, input: Any) -> list[str]:
        """Return the shards of a split."""
        return [f"{input.corpus}/{wildcards.split}/{shard}.parquet" for shard in self._shards(wildcards.corpus)]

    def parts(self, wildcards: Any) -> list[str]:
        """Return the names of the merged parts of a split."""
        return [f"{part:04}" for part in range(-(-len(self._shards(wildcards.corpus)) // SHARDS_AT_ONCE))]

    def shards_of_part(self, wildcards: Any) -> list[str]:
        """Return the names of the shards from which one part is merged."""
        first = int(wildcards.part) * SHARDS_AT_ONCE
        return self._shards(wildcards.corpus)[first : first + SHARDS_AT_ONCE]

    def _shards(self, corpus: str) -> list[str]:
        return shard_names(self.experiment, corpus)

    @property
    def small_corpora(self) -> str:
        """Pattern of the corpora with few shards."""
        return _either(name for name in self._texts if len(self._shards(name)) <= SHARDS_AT_ONCE)

    @property
    def large_corpora(self) -> str:
        """Pattern of the corpora with many shards."""
        return _either(name for name in self._texts if len(self._shards(name)) > SHARDS_AT_ONCE)

    @property
    def corpora_of_counts(self) -> str:
        """Pattern of the corpora that are given as counts."""
        return _either(name for name in self.experiment.corpora if name not in self._texts)

    @property
    def _texts(self) -> list[str]:
        return [name for name, corpus in self.experiment.corpora.items() if not corpus.counted]


def _either(names: Iterable[str]) -> str:
    """Return a pattern that matches these names; without names it matches nothing."""
    return "|".join(names) or "(?!)"
