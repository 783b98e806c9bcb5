"""Text of the site's page ``docs/configuration.md``, from the typed configuration."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined, to_jsonable_python

from tokbench.commands.method_listing import patterns_of, reference_of
from tokbench.config.corpus import Corpus
from tokbench.config.experiment import Experiment
from tokbench.config.sections import (
    DocumentMetricsOptions,
    ImportedTokenizer,
    MetricsOptions,
    ModelRuns,
    ReportOptions,
    TokenizerPair,
    TranslationRuns,
    Variant,
)
from tokbench.construction import Construction, constructions, options_with_recipes
from tokbench.corpus import parallel, sources
from tokbench.corpus.source_types import SOURCES
from tokbench.evaluation.offline_tasks import TaskOptions
from tokbench.evaluation.suites import (
    LocalTask,
    PerturbedQuestions,
    SuiteOptions,
    TaskSettings,
    local_tasks,
    named_suites,
)
from tokbench.io.numbers import LARGEST_BYTES, LARGEST_COUNT, LARGEST_LEGACY_SEED, LARGEST_SEED, LARGEST_VOCABULARY
from tokbench.metric import metrics
from tokbench.models.byte_lm.options import PRESETS as BYTE_LM_PRESETS
from tokbench.models.byte_lm.options import ByteLmRecipeOptions, ByteNgramOptions
from tokbench.models.pretraining.options import PRESETS as MODEL_PRESETS
from tokbench.models.pretraining.options import LlamaOptions, ModelOptions, MptOptions, Sharding, TrainingResources
from tokbench.models.translation.options import PRESETS as TRANSLATION_PRESETS
from tokbench.models.translation.options import TranslationOptions
from tokbench.options import Options
from tokbench.pretokenization import schemes
from tokbench.registry import Method
from tokbench.resource import ResourceOptions, resource_types
from tokbench.segmentation import Segmentation, segmentations
from tokbench.stages.bounds import BoundsOptions
from tokbench.stages.ngram_bits import NgramBitsOptions
from tokbench.stages.robustness import RobustnessOptions
from tokbench.stages.tables import StatisticsOptions
from tokbench.stages.token_effects import CausalEffectOptions
from tokbench.statistics.scale.target_model import TargetModel

INTRODUCTION = f"""\
# Configuration

One YAML file is one experiment. `snakemake` reads `config.yaml`, or instead the file after `--configfile`: copy
`config.yaml` to start your own experiment. `tokbench validate FILE` checks a file without running anything; `--full`
prints it with all defaults.

Three forms save typing:

- a method, source or recipe without options may be just a name: `construction: bpe`;
- a recipe may start from a preset and change some of its keys: `{{preset: tiny, batches: 400}}`;
- the path of a corpus, resource or local suite may be on the command line:
  `snakemake --config books=novels.jsonl.gz`.

Values mean the same as in YAML 1.1, YAML 1.2 and JSON. `true` and `false` are Booleans, decimal numbers are numbers.
`yes`, `off`, `1_000`, `+5`, `017` and `1:30` are strings, and are errors for numeric keys. Numbers are finite.
Limits:

- a vocabulary has at most {LARGEST_VOCABULARY:,} tokens;
- a seed has at most 64 bits, in language models 32;
- numbers of bytes and documents have at most 64 bits, other integers 31;
- names (of the experiment, a corpus, a variant, a model) have at most 64 letters, digits, `_` and `-`; names of tests
  of parallel corpora 32, of their languages 24.

Duplicate keys, duplicate list entries and YAML tags are errors; aliases and `<<` work. `tokbench validate` lists all
invalid values at once; conflicts between values are checked after that.

`tokbench schema > config.schema.json` writes the JSON schema of the installed version. Editors with
yaml-language-server, such as VS Code with its YAML extension, then complete and check configurations that begin with
`# yaml-language-server: $schema=config.schema.json`. The schema and this page are generated from the types, the page by
`make docs`.
"""
EXAMPLE = """\
## A complete example

```yaml
name: mine                # the results are in results/mine
seed: 0                   # of the splits and of all random draws

corpora:
  books:                  # a name of your choice
    source: {type: text, path: books/*.txt, documents: paragraph}
    splits: {tokenizer: 0.5, evaluation: 0.2, pretraining: 0.3}   # shares of the bytes

variants:                 # tokenizer recipes, and external tokenizers
  bpe: {pretokenization: gpt2, construction: bpe}
  greedy: {pretokenization: gpt2, construction: bpe, segmentation: greedy}
  pathpiece:
    pretokenization: gpt2
    construction: {method: pathpiece, initial: bpe, initial_size: 16384}
  theirs: {from: tokenizer_json, path: theirs.json}               # a tokenizer file of another library
  ours: {from: python, path: my_tokenizer:encode}                 # a function of my_tokenizer.py

sizes: [4096, 8192]       # of the variants that are built

ngram_bits: {order: 3}    # optional: bits per byte without language models

models:                   # optional: language models
  tiny: {preset: tiny, batches: 400}

suites:                   # optional: their tests
  offline: offline

runs:                     # optional: which models are trained with which variants
  - {models: [tiny], variants: [bpe, pathpiece], sizes: [4096], suites: [offline]}

report: {title: Tokenizers for my books, baseline: bpe}
```

Only `name`, `corpora`, `variants` and `sizes` are required.
"""
PRETOKENIZATIONS = """\
A pre-tokenization is a name, or a mapping with options, such as `{method: regex, pattern: '\\p{L}+|\\p{N}{1,3}'}` or
`{method: sequence, steps: [gpt2, {method: digits, group: 3}]}`. Patterns have the syntax of Python's `regex` package;
text between matches is a pre-token, too. An invalid UTF-8 byte counts as a character that is neither letter, number nor
white space. A pattern that is invalid, matches the empty string or needs too long is a one-line error. File names have
a hash of the options, if there are any. In paths and Python names, `scheme` means pre-tokenization.
"""
INITIAL = """\
A top-down construction starts from a larger vocabulary. `initial` is the construction that builds it: its name, or a
mapping with its options. These are Hugging Face's rules of Unigram:

```yaml
construction:
  method: pathpiece
  initial: {method: unigram, whole_characters: false, pruning_loss: tokenizers}
```

Variants that start from the same vocabulary share its build.
"""
ELSEWHERE = """\
A variant with `from` and `path` is an external tokenizer. It has no requested size: tables list it under its number of
tokens that text can have. [Files of tokenizers](existing_files.md#measurements-in-an-experiment) describes its
measurements. The path may be on the command line, as `--config NAME=PATH`. `from: python` runs [a Python
function](existing_files.md#a-python-function); `tokbench validate` parses its file and does not run it.
"""
FORMS = {"null": "nothing", "number": "number", "integer": "integer", "string": "text", "boolean": "true or false"}
LIMITS = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most", "exclusiveMaximum": "less than"}
MOST_SHOWN = 8
"""Maximum number of keys in the summary of a folded table."""
COMMON_KEYS = tuple(sources.Source.model_fields)
"""Keys of every corpus source."""
GENERAL_LIMITS = (LARGEST_COUNT, LARGEST_BYTES, LARGEST_SEED, LARGEST_LEGACY_SEED)
"""Bounds that the introduction states for all keys."""


def page() -> str:
    """Return the text of the page."""
    return "\n".join(
        [
            INTRODUCTION,
            EXAMPLE,
            *section("## Top level", "", Experiment),
            *section("## Corpora", "corpora.NAME", Corpus),
            *source_sections(),
            *parallel_sections(),
            *section("## Variants", "variants.NAME", Variant),
            *section("### External tokenizers", "variants.NAME", ImportedTokenizer),
            ELSEWHERE,
            *pretokenization_section(),
            *method_sections("### Constructions", "variants.NAME.construction", constructions.methods()),
            "#### Initial vocabularies",
            "",
            INITIAL,
            *method_sections("### Segmentations", "variants.NAME.segmentation", segmentations.methods()),
            *section("## Byte language models", "byte_lms.NAME", ByteLmRecipeOptions),
            *section("### Byte n-gram models", "byte_lms.NAME", ByteNgramOptions),
            *preset_section(BYTE_LM_PRESETS),
            *resource_sections(),
            *metric_sections(),
            *section("## Bounds", "bounds", BoundsOptions),
            *section("## Token n-gram models", "ngram_bits", NgramBitsOptions),
            *section("## Perturbations", "robustness", RobustnessOptions),
            *section("## Language models", "models.NAME", ModelOptions),
            *section("### MPT", "models.NAME", MptOptions, ModelOptions.model_fields),
            *section("### Llama", "models.NAME", LlamaOptions, ModelOptions.model_fields),
            *section("### Training resources", "models.NAME.resources", TrainingResources),
            *section("### Sharding", "models.NAME.fsdp", Sharding),
            *preset_section(MODEL_PRESETS),
            *section("## Translation models", "translation_models.NAME", TranslationOptions),
            *preset_section(TRANSLATION_PRESETS),
            *section("## Offline tasks", "tasks", TaskOptions),
            *section("## Suites", "suites.NAME", SuiteOptions),
            *section("### Overrides of single tasks", "suites.NAME.overrides.TASK", TaskSettings),
            *section("### Perturbed questions", "suites.NAME.perturbed", PerturbedQuestions),
            *preset_section(named_suites()),
            *section("### Files of a local task", "suites.NAME.files.TASK", LocalTask),
            f"Tasks known by name: {', '.join(f'`{name}`' for name in local_tasks())}.",
            "",
            *section("## Runs", "runs.N", ModelRuns),
            *section("## Target models", "targets.NAME", TargetModel),
            *section("## Causal effect of a token", "causal_effect", CausalEffectOptions),
            *section("## Translations", "translations.N", TranslationRuns),
            *section("### Separate vocabularies", "translations.N.tokenizers.N", TokenizerPair),
            *section("## Statistics", "statistics", StatisticsOptions),
            *section("## Report", "report", ReportOptions),
        ]
    )


def section(heading: str, path: str, model: type[BaseModel], known: Collection[str] = ()) -> Iterator[str]:
    """Yield a heading, the model's docstring, and its keys except known ones."""
    yield from (heading, "", f"{first_sentence(model)}\n", *key_table(path, model, known))


def source_sections() -> Iterator[str]:
    """Yield the common keys of sources, then one section per type with its additional keys."""
    yield from section("### Keys of every source", "corpora.NAME.source", sources.Source)
    yield from section("### Keys of sources that read files", "corpora.NAME.source", sources.FileSource, COMMON_KEYS)
    for model in SOURCES:
        name = model.model_json_schema()["properties"]["type"]["const"]
        of_files = issubclass(model, sources.FileSource)
        known = [*COMMON_KEYS, *(["path"] if of_files else [])] if issubclass(model, sources.Source) else []
        yield from section(f"### Source `{name}`", "corpora.NAME.source", model, known)
        if known:
            more = ", and [of sources that read files](#keys-of-sources-that-read-files)" if of_files else ""
            yield from (f"It also has the [keys of every source](#keys-of-every-source){more}.", "")


def parallel_sections() -> Iterator[str]:
    """Yield the sections on parallel corpora and their file types."""
    yield from section("## Parallel corpora", "parallel_corpora.NAME", parallel.ParallelCorpus)
    kinds: tuple[type[BaseModel], ...] = (
        parallel.LinePairs,
        parallel.TmxPairs,
        *parallel.RECORD_PAIRS.values(),
        parallel.HubPairs,
    )
    for model in kinds:
        name = model.model_json_schema()["properties"]["type"]["const"]
        yield from section(f"### Pairs `{name}`", "parallel_corpora.NAME.train", model)
    yield from section("### Cleaning", "parallel_corpora.NAME.clean", parallel.Cleaning)


def pretokenization_section() -> Iterator[str]:
    """Yield all pre-tokenizations with their patterns and options."""
    yield from ("### Pre-tokenizations", "", PRETOKENIZATIONS)
    yield from ("| name | pattern | meaning |", "|---|---|---|")
    for method in schemes.methods():
        shown = ", then ".join(code(escaped(pattern)) for pattern in patterns_of(method))
        yield f"| `{method.name}` | {shown} | {escaped(summary_of(method))} |"
    yield ""
    for method in schemes.methods():
        if method.options.model_fields:
            yield from (f"#### `{method.name}`", "", summary_of(method), "")
            yield from key_table("variants.NAME.pretokenization", method.options)


def method_sections(heading: str, path: str, methods: Sequence[Method]) -> Iterator[str]:
    """Yield one section per method: summary, requirements and options."""
    yield from (heading, "")
    for method in methods:
        options = options_with_recipes(method) if isinstance(method, Construction) else method.options
        yield from (
            f"#### `{method.name}`",
            "",
            summary_of(method),
            *known_of(method),
            "",
            *key_table(path, options),
        )


def summary_of(method: Method) -> str:
    """Return the summary of a method, with a link to its plain Python reference."""
    told = plain(method.summary)
    if (reference := reference_of(method)) is None:
        return told
    path, part = reference
    module = path.split(".")[2]
    return f"{told} [In plain Python](../src/tokbench/reference/{module}.py){plain(part)}."


def known_of(method: Method) -> Iterator[str]:
    """Yield sentences on the metadata of a method."""
    if isinstance(method, Construction):
        yield f"Default segmentation: `{method.segmentation}`."
        yield f"Minimum size: {method.alphabet}."
        if method.source == "scores":
            yield "Reads the scores of the variant's `byte_lm`."
        if method.source == "documents":
            yield "Reads the documents of the variant's corpus, not only their counts."
        if method.gives_initial:
            yield "Top-down constructions may start from it."
    elif isinstance(method, Segmentation) and method.needs:
        yield f"The construction must produce {method.needs}."


def resource_sections() -> Iterator[str]:
    """Yield the common keys of resources, then each type with its options."""
    yield from section("## Resources", "resources.NAME", ResourceOptions)
    yield from ("| type | content | files in a folder | meaning |", "|---|---|---|---|")
    for method in resource_types.methods():
        holds = method.gold.replace("_", " ")
        yield f"| `{method.name}` | {holds} | `{method.files}` | {escaped(plain(method.summary))} |"
    yield ""
    common = set(ResourceOptions.model_fields)
    for method in resource_types.methods():
        if set(method.options.model_fields) > common:
            yield from (f"### Resource `{method.name}`", "", *key_table("resources.NAME", method.options, common))


def metric_sections() -> Iterator[str]:
    """Yield every family of metrics with its options."""
    yield from ("## Metrics", "", f"{first_sentence(MetricsOptions)}", "")
    yield from ("| family | measured on | meaning |", "|---|---|---|")
    for method in metrics.methods():
        seen = method.of.replace("_", " ")
        seen += ", and each language" if method.per_language else ""
        yield f"| `{method.name}` | {seen} | {escaped(summary_of(method))} |"
    yield from ("", "| key | type | default | meaning |", "|---|---|---|---|")
    for method in metrics.methods():
        section = "document_metrics" if method.of == "documents" else "metrics"
        yield from (line for line in key_table(f"{section}.{method.name}", method.options) if line.startswith("| `"))
    others = key_table("document_metrics", DocumentMetricsOptions, {method.name for method in metrics.methods()})
    yield from (line for line in others if line.startswith("| `"))
    yield from (
        "",
        "Experiments measure counts of pre-tokens, and documents if there is a section `document_metrics`. Metrics of",
        "documents are also computed by `tokbench measure --documents` and `tokbench.measure`; see [metrics of",
        "text](metrics.md).",
        "",
    )


def preset_section(presets: Mapping[str, Options]) -> Iterator[str]:
    """Yield the differences of each preset from the defaults."""
    yield from ("| preset | values |", "|---|---|")
    for name, options in presets.items():
        whole = options.model_dump(mode="json")
        changes = {
            key: value or whole[key]
            for key, value in options.model_dump(mode="json", exclude_defaults=True).items()
            if key != "overrides"
        }
        shown = ", ".join(f"`{key}: {inline(value)}`" for key, value in changes.items()) or "the defaults"
        yield f"| `{name}` | {shown} |"
    yield ""


def key_table(path: str, model: type[BaseModel], known: Collection[str] = ()) -> Iterator[str]:
    """Yield the table of a model's keys, except known ones: path, type, default, meaning."""
    properties = model.model_json_schema(mode="validation").get("properties", {})
    keys = [key for key in properties if key not in ("method", "type", *known)]
    if not keys:
        return
    names = ", ".join(f"<code>{key}</code>" for key in keys[:MOST_SHOWN])
    more = f" and {len(keys) - MOST_SHOWN} more" if len(keys) > MOST_SHOWN else ""
    yield from (f'<details markdown="1"><summary>{names}{more}</summary>', "")
    yield from ("| key | type | default | meaning |", "|---|---|---|---|")
    for key in keys:
        meaning = plain(properties[key].get("description", ""))
        full = f"{path}.{key}" if path else key
        yield f"| `{full}` | {escaped(form(properties[key]))} | {default(model, key)} | {escaped(sentence(meaning))} |"
    yield from ("", "</details>", "")


def form(properties: dict[str, Any]) -> str:
    """Describe the accepted values of a key."""
    if "const" in properties:
        return f"`{inline(properties['const'])}`"
    if "enum" in properties:
        return " or ".join(f"`{inline(value)}`" for value in properties["enum"])
    if "anyOf" in properties:
        parts = [part for part in properties["anyOf"] if part.get("type") != "null"]
        if len(parts) == 1 and "$ref" in parts[0]:
            return "mapping"
        if any("$ref" in part or "oneOf" in part for part in parts):
            return "name or mapping"
        return " or ".join(dict.fromkeys(form(part) for part in parts))
    if any("$ref" in part for part in [properties, *properties.get("oneOf", ())]):
        return "mapping"
    if "oneOf" in properties:
        return " or ".join(map(form, properties["oneOf"]))
    kind = properties["type"]
    if kind == "array":
        return f"list of {form(properties['items'])}" if "items" in properties else f"list of {properties['maxItems']}"
    if kind == "object":
        return "mapping"
    limits = [
        f"{word} {properties[limit]}"
        for limit, word in LIMITS.items()
        if limit in properties and properties[limit] not in GENERAL_LIMITS
    ]
    return ", ".join([FORMS[kind], *limits])


def default(model: type[BaseModel], key: str) -> str:
    """Return the default of a key in YAML."""
    field = model.model_fields[key]
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined or value is None:
        return "optional"
    return f"`{inline(value)}`" if not isinstance(value, BaseModel) else "defaults"


def inline(value: Any) -> str:
    """Format a value in YAML's flow style (JSON with fewer quotes)."""
    jsonable = to_jsonable_python(value)
    if isinstance(jsonable, dict):
        return "{" + ", ".join(f"{key}: {inline(inner)}" for key, inner in jsonable.items()) + "}"
    if isinstance(jsonable, list):
        return "[" + ", ".join(map(inline, jsonable)) + "]"
    return jsonable if isinstance(jsonable, str) and jsonable else json.dumps(jsonable)


def plain(text: str) -> str:
    """Join a docstring to one line, with literals in Markdown."""
    return " ".join(text.replace("``", "`").split())


def first_sentence(model: type[BaseModel]) -> str:
    """Return the first paragraph of a model's docstring."""
    return plain((model.__doc__ or "").partition("\n\n")[0])


def sentence(text: str) -> str:
    """Add a capital at the start and a full stop at the end."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) or not text else ".")


def escaped(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


def code(text: str) -> str:
    """Format text as a code span."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"
