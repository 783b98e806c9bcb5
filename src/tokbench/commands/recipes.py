"""Parsing of recipes and inputs on the command line.

Options of methods, presets, and the corpus and files of a recipe.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tokbench.errors import TokbenchError, shortened, unknown
from tokbench.options import Options, Seed

if TYPE_CHECKING:
    from tokbench.config.corpus import Corpus
    from tokbench.corpus.prepare import PreparedSource
    from tokbench.corpus.reading import ReadSpan
    from tokbench.corpus.sources import Source
    from tokbench.models.byte_lm.options import ByteLmRecipeOptions, ByteNgramOptions
    from tokbench.registry import Method


Chosen = TypeVar("Chosen", bound=Options)


class Seeded(Options):
    """Settings of a corpus recipe in addition to the corpus."""

    seed: Seed
    """Random seed of the splits."""


def method_options(method: "Method", settings: Sequence[str] | dict[str, Any], flag: str) -> Options:
    """Parse the options of a method from ``option=value`` strings (values are YAML) or from a mapping.

    Raises:
        TokbenchError: an unknown option or a value of the wrong type; the message names it.
    """
    from tokbench.construction import Construction, options_with_recipes
    from tokbench.options import validated

    values = dict(settings) if isinstance(settings, dict) else settings_of(settings, flag)
    named = values.pop("method", method.name)
    if named != method.name:
        raise TokbenchError(f"{flag}: names the method '{named}', and the command '{method.name}'; name one of them")
    options = method.options
    if isinstance(method, Construction) and isinstance(values.get("initial"), Mapping):
        options = options_with_recipes(method)
    return validated(values, options, f"{flag} ({method.name})")


def settings_of(settings: Sequence[str], flag: str) -> dict[str, Any]:
    """Parse ``option=value`` strings into a mapping; values are YAML.

    Raises:
        TokbenchError: a string is not of this form or not YAML, or an option is given twice.
    """
    values: dict[str, Any] = {}
    for key, value in (_setting(setting, flag) for setting in settings):
        if key in values:
            raise TokbenchError(f"{flag} {key}: given twice; remove one")
        values[key] = value
    return values


def _setting(text: str, flag: str) -> tuple[str, Any]:
    from tokbench.io.yaml import parse_yaml

    key, separator, value = text.partition("=")
    if not separator:
        raise TokbenchError(f"{flag} {shortened(text)}: expected option=value")
    return key.strip(), parse_yaml(value, f"{flag} {key.strip()}")


def mapping_of(text: str, flag: str) -> dict[str, Any]:
    """Parse a mapping from JSON or YAML in one argument."""
    from tokbench.io.yaml import parse_yaml

    value = parse_yaml(text, flag)
    if not isinstance(value, dict):
        raise TokbenchError(f"{flag}: expected a mapping, {{key: value}}, found '{shortened(text)}'")
    return value


def recipe_options(text: str, options: type[Chosen], presets: Mapping[str, Chosen]) -> Chosen:
    """Return options from a preset's name or a JSON object.

    Raises:
        TokbenchError: the text is neither; the message names the key.
    """
    from tokbench.io.yaml import parse_yaml
    from tokbench.options import validated

    value = parse_yaml(text, "--recipe")
    if isinstance(value, str):
        if value not in presets:
            raise TokbenchError(f"--recipe: {unknown(value, 'preset', presets)}")
        return presets[value]
    return validated(value, options, "--recipe")


def byte_lm_recipe(text: str) -> "ByteLmRecipeOptions | ByteNgramOptions":
    """Return options of a byte language model from a preset's name or a JSON object; default ``kind``: neural.

    Raises:
        TokbenchError: the text is neither; the message names the key.
    """
    from tokbench.io.yaml import parse_yaml
    from tokbench.models.byte_lm.options import PRESETS as BYTE_LM_PRESETS
    from tokbench.models.byte_lm.options import ByteLmRecipeOptions, ByteNgramOptions

    value = parse_yaml(text, "--recipe")
    ngram = isinstance(value, dict) and value.get("kind") == "ngram"
    kind: type[ByteLmRecipeOptions | ByteNgramOptions] = ByteNgramOptions if ngram else ByteLmRecipeOptions
    options = recipe_options(text, kind, BYTE_LM_PRESETS)
    return options if isinstance(options, ByteNgramOptions) else ByteLmRecipeOptions(**options.model_dump())


def recipe(text: str, flag: str) -> tuple[str, dict[str, Any]]:
    """Parse a method and options in one argument: ``name`` or the flow mapping ``{method: name, option: value}``."""
    from tokbench.io.yaml import parse_yaml

    value = parse_yaml(text, flag)
    if isinstance(value, str):
        return value, {}
    if isinstance(value, dict) and isinstance(value.get("method"), str):
        return value["method"], {key: given for key, given in value.items() if key != "method"}
    raise TokbenchError(f"{flag} {shortened(text)}: expected a method's name, or {{method: name, option: value}}")


def check_same_files(files: Sequence[str], named: Sequence[Path], flag: str) -> None:
    """Reject files that differ from those of a recipe.

    Raises:
        TokbenchError: the two sets of files differ.
    """
    if {Path(file).resolve() for file in files} != {path.resolve() for path in named}:
        raise TokbenchError(f"{flag}: its path names other files than the command does; name them in one place")


def corpus_of(recipe: str) -> "tuple[Corpus, int]":
    """Parse a recipe; return the corpus and its seed.

    Raises:
        TokbenchError: the recipe is not valid in the configuration; the message names the key.
    """
    from tokbench.config.corpus import Corpus
    from tokbench.options import validated

    values = mapping_of(recipe, "--recipe")
    seed = validated({"seed": values.pop("seed", 0)}, Seeded, "--recipe").seed
    return validated(values, Corpus, "--recipe"), seed


def source_of(corpus: "Corpus", files: Sequence[str]) -> "tuple[Source, Path | None]":
    """Return the source that reads the given files, and the file or folder of an earlier stage that it depends on.

    Raises:
        TokbenchError: the files differ from the source's, or their number is wrong.
    """
    from tokbench.corpus.source_files import files_of
    from tokbench.corpus.sources import EmbeddedSource, FileSource, HubSource, ParallelSource

    source = corpus.source
    if source is None:
        raise TokbenchError("--recipe: a part is of one source; give 'source' in place of 'sources'")
    # Sources that an earlier command has written to one file or folder.
    if isinstance(source, HubSource):
        if not files:
            raise TokbenchError("a hub corpus is prepared from the file that 'tokbench fetch' wrote; name it")
        if len(files) > 1:
            raise TokbenchError(
                "a hub corpus is prepared from one file, the output of 'tokbench fetch'; name only that"
            )
        return source, Path(files[0])
    if isinstance(source, ParallelSource):
        if len(files) != 1:
            raise TokbenchError(
                "a side of a parallel corpus is prepared from one folder, the output of 'tokbench prepare_parallel'; "
                "name only that"
            )
        return source, Path(files[0], "train.parquet")
    # Files of the user, or none.
    if files and isinstance(source, EmbeddedSource):
        raise TokbenchError("the embedded source reads no files; leave them out")
    if files and isinstance(source, FileSource):
        if not source.path:
            return source.model_copy(update={"path": list(files)}), None
        check_same_files(files, files_of(source), "--recipe")
    return source, None


def mixture_of(corpus: "Corpus", files: Sequence[str]) -> "dict[str, PreparedSource]":
    """Return the sources of a mixture with the downloaded files of hub sources, which are the last of the files.

    Raises:
        TokbenchError: the files differ from those of the sources, or their number is wrong.
    """
    from tokbench.corpus.prepare import PreparedSource
    from tokbench.corpus.source_files import files_of
    from tokbench.corpus.sources import FileSource, HubSource

    sources = corpus.named_sources
    hub = sum(isinstance(source, HubSource) for source in sources.values())
    own = [file for source in sources.values() if isinstance(source, FileSource) for file in files_of(source)]
    read, fetched = files[: len(files) - hub], iter(files[len(files) - hub :])
    if len(files) < hub:
        raise TokbenchError(f"{hub} of the sources are of a hub; name the files that 'tokbench fetch' wrote, in order")
    if read or hub:
        check_same_files(read, own, "--recipe")
    return {
        name: PreparedSource(source, Path(next(fetched)) if isinstance(source, HubSource) else None)
        for name, source in sources.items()
    }


def say_findings(folder: Path) -> None:
    """Write the findings in the manifest of a corpus to standard error, if there are any."""
    from tokbench.corpus.documents import lines_of, read_findings

    for line in lines_of(read_findings(folder)):
        click.echo(line, err=True)


def shares_of(corpus: "Corpus") -> dict[str, float | str]:
    """Return the share of each split, or the name of the split that it equals."""
    return {str(split): share for split, share in corpus.splits.items()}


def groups_in(corpus: "Corpus", buckets: int = 1) -> list[range]:
    """Return the groups of places that are written together, numbered over all splits that have a share.

    Args:
        corpus: the corpus.
        buckets: number of places of each shard (default: 1).
    """
    from tokbench.corpus.parts import groups_of

    splits = sum(not isinstance(share, str) for share in corpus.splits.values())
    groups = groups_of(splits * corpus.shards, corpus.parts)
    return [range(group.start * buckets, group.stop * buckets) for group in groups]


def span_of(source: "Source", span: "ReadSpan") -> "ReadSpan":
    """Return the part of a source's files to read.

    Raises:
        TokbenchError: the part is not everything, but the files cannot be divided.
    """
    from tokbench.corpus.parts import is_divisible
    from tokbench.corpus.reading import WHOLE_FILE
    from tokbench.corpus.sources import type_of

    if span != WHOLE_FILE and not is_divisible(source):
        raise TokbenchError(f"--begin, --end: files of type '{type_of(source)}' are not divided; leave them out")
    return span
