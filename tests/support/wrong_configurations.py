"""Invalid configurations, as files and as values of keys, with parts of their error messages.

Each row is a change and parts of its error message.
"""

from typing import Any

Pieces = tuple[str, ...]

HEAD = (
    "name: trial\ncorpora: {pydoc: {source: embedded}}\nvariants: {bpe: {pretokenization: gpt2, construction: bpe}}\n"
)

TEXTS: dict[str, tuple[bytes, Pieces]] = {
    # Invalid YAML
    "empty": (b"", ("not a configuration",)),
    "only a comment": (b"# nothing\n", ("not a configuration",)),
    "a list": (b"- 1\n", ("not a configuration",)),
    "a word": (b"bpe\n", ("not a configuration",)),
    "a number": (b"3\n", ("not a configuration",)),
    "open bracket": (b"name: [\n", (":2:1: not YAML", "correct it")),
    "open brace": (b"{name: a\n", ("not YAML",)),
    "open quote": (b'name: "a\n', ("not YAML",)),
    "bracket closed twice": (b"sizes: [1]]\n", (":1:11: not YAML",)),
    "bad indent": (b"name: a\n b: c\n", (":2:3: not YAML",)),
    "another indent": (
        b"corpora:\n    a: 1\n  b: 2\n",
        (":3:3: not YAML (indented differently from the lines above); correct it",),
    ),
    "a tab": (b"corpora:\n\tpydoc: embedded\n", (":2:1: not YAML", "'\\t'")),
    "an at sign": (b"name: @a\n", (":1:7: not YAML",)),
    "unknown escape": (b'name: "\\q"\n', (":1:9: not YAML",)),
    "no space after a colon": (b"name:a\nseed: 1\n", ("not YAML",)),
    "NUL": (b"name: a\0b\n", (":1:8: not YAML", "U+0000")),
    "a control character": (b"name: a\x07\n", (":1:8: not YAML", "U+0007")),
    "NUL by escape": (b'name: "a\\0b"\n', (":1:7: text contains the character U+0000",)),
    "half a surrogate": (b'name: "\\ud83e"\n', (":1:7: half a pair of surrogates",)),
    "not UTF-8": (b"name: a\nseed: \xff\n", (":2:7: not UTF-8 (byte 0xff)",)),
    "Latin-1": ("name: naïve\n".encode("latin-1"), (":1:9: not UTF-8 (byte 0xef)",)),
    "UTF-16": ("name: a\n".encode("utf-16"), (":1:1: not UTF-8",)),
    "a gzip file": (b"\x1f\x8b\x08\x00", (":1:2: not UTF-8",)),
    "a Parquet file": (b"PAR1\x00\x15\x04", ("not YAML",)),
    "two documents": (HEAD.encode() + b"sizes: [512]\n---\nname: b\n", (":5:1: not YAML (expected a single document",)),
    "brackets": (b"[" * 10_000, (":1:51: nested more than 50 deep",)),
    "braces": (b"{a: " * 10_000, ("nested more than 50 deep",)),
    "dashes": (b"- " * 10_000, ("nested more than 50 deep",)),
    "unknown alias": (b"name: *a\n", (":1:7: not YAML (found undefined alias",)),
    "an alias within itself": (b"name: &a [*a]\n", (":1:11: alias '*a' within its own value",)),
    "a merge of no mapping": (
        HEAD.encode() + b"sizes: [512]\nreport: {<<: 3}\n",
        (":5:14: not YAML", "expected a mapping or list of mappings for merging"),
    ),
    # Tags and keys
    "a tag of Python's": (b"name: !!python/object/apply:os.system [ls]\n", (":1:7: tags such as",)),
    "a tag of a type": (HEAD.encode() + b"sizes: [!!int '512']\n", (":4:9: tags such as",)),
    "a tag of one's own": (HEAD.encode() + b"sizes: !sizes [512]\n", (":4:8: tags such as",)),
    "a number for a key": (HEAD.encode() + b"sizes: [512]\n5: x\n", (":5:1: the key 5 is not text; put it in quotes",)),
    "a truth value for a key": (HEAD.encode() + b"sizes: [512]\ntrue: x\n", ("the key true is not text",)),
    "nothing for a key": (HEAD.encode() + b"sizes: [512]\nnull: x\n", ("the key null is not text",)),
    "an empty key": (HEAD.encode() + b"sizes: [512]\n? \n: x\n", ("the key that is empty is not text",)),
    "a list for a key": (HEAD.encode() + b"? [a]\n: b\n", (":4:3: a key must be text",)),
    "a key twice": (
        HEAD.encode() + b"sizes: [512]\nseed: 1\nseed: 2\n",
        (":6:1: the key 'seed' occurs twice (first in line 5)",),
    ),
    "a key twice, once in quotes": (
        HEAD.encode() + b"sizes: [512]\n'sizes': [1024]\n",
        (":5:1: the key 'sizes' occurs twice",),
    ),
    "a key twice within": (
        b"name: a\ncorpora: {pydoc: {source: embedded}}\nvariants:\n"
        b"  bpe: {pretokenization: gpt2, construction: bpe, construction: ngram}\nsizes: [512]\n",
        (":4:51: the key 'construction' occurs twice (first in line 4)",),
    ),
    "a variant twice": (
        b"name: a\ncorpora: {pydoc: {source: embedded}}\nvariants:\n  bpe: {pretokenization: gpt2, construction: bpe}\n"
        b"  bpe: {pretokenization: none, construction: bpe}\nsizes: [512]\n",
        (":5:3: the key 'bpe' occurs twice (first in line 4)",),
    ),
    # Numbers in other notations
    **{
        f"size {size}": (HEAD.encode() + f"sizes: [{size}]\n".encode(), pieces)
        for size, pieces in {
            "1_000": ("sizes.0: must be a whole number (found '1_000')",),
            "+512": ("sizes.0: must be a whole number (found '+512')",),
            "0o1000": ("sizes.0: must be a whole number (found '0o1000')",),
            "01000": ("sizes.0: must be a whole number (found '01000')",),
            "0x200": ("sizes.0: must be a whole number (found '0x200')",),
            "0b1000000000": ("sizes.0: must be a whole number (found '0b1000000000')",),
            "8:32": ("sizes.0: must be a whole number (found '8:32')",),
            "٥١٢": ("sizes.0: must be a whole number (found '٥١٢')",),
            "５１２": ("sizes.0: must be a whole number (found '５１２')",),
            "'512'": ("sizes.0: must be a whole number (found '512')",),
            "512.0": ("sizes.0: must be a whole number (found 512.0)",),
            "5.12e2": ("sizes.0: must be a whole number (found 512.0)",),
            "512k": ("sizes.0: must be a whole number (found '512k')",),
            "true": ("sizes.0: must be a whole number (found true)",),
            "yes": ("sizes.0: must be a whole number (found 'yes')",),
            "null": ("sizes.0: must be a whole number (found nothing)",),
            "[512]": ("sizes.0: must be a whole number (found [512])",),
            ".nan": ("sizes.0: must be a whole number (found nan)",),
            ".inf": ("sizes.0: must be a whole number (found inf)",),
            "-512": ("sizes: -512 is smaller than the alphabet of 'bpe'",),
            "0": ("sizes: 0 is smaller than the alphabet of 'bpe'",),
            "16777217": ("sizes.0: must be at most 16777216 (found 16777217)",),
            "2147483648": ("sizes.0: must be at most 16777216",),
            "99999999999999": ("sizes.0: must be at most 16777216",),
            "9" * 30: ("sizes.0: must be at most 16777216",),
            "9" * 5000: ("sizes.0: must be a whole number (found '999",),
            "-" + "9" * 30: ("is smaller than the alphabet of 'bpe'",),
            "1e400": ("sizes.0: must be a whole number (found inf)",),
        }.items()
    },
}
"""Invalid configuration files."""

NOT_WHOLE = [
    (True, "must be a whole number (found true)"),
    ("3", "must be a whole number (found '3')"),
    (2.0, "must be a whole number (found 2.0)"),
    (float("nan"), "must be a whole number (found nan)"),
    (float("inf"), "must be a whole number (found inf)"),
]
NOT_REAL = [
    (True, "must be a number (found true)"),
    ("0.5", "must be a number (found '0.5')"),
    (float("nan"), "must be a finite number (found nan)"),
    (float("inf"), "must be a finite number (found inf)"),
    (float("-inf"), "must be a finite number (found -inf)"),
]
WHOLE_KEYS: list[tuple[str, dict[str, Any], str]] = [
    ("variants/bpe/construction", {"method": "bpe"}, "min_pair_count"),
    ("byte_lms/tiny", {"preset": "tiny"}, "steps"),
    ("models/tiny", {"preset": "tiny"}, "batch"),
    ("suites/offline", {"preset": "offline"}, "num_fewshot"),
    ("tasks", {}, "questions"),
]
"""Integer keys: section, other keys that it needs, and the key."""
REAL_KEYS: list[tuple[str, dict[str, Any], str]] = [
    ("variants/bpe/construction", {"method": "bpe"}, "character_coverage"),
    ("variants/bpe/segmentation", {"method": "bpe_dropout"}, "dropout"),
    ("byte_lms/tiny", {"preset": "tiny"}, "learning_rate"),
    ("models/tiny", {"preset": "tiny"}, "learning_rate"),
]
VALUES: list[tuple[str, Any, Pieces]] = [
    ("corpora/pydoc/splits/tokenizer", float("nan"), ("corpora.pydoc.splits.tokenizer: must be a finite number or",)),
    ("corpora/pydoc/splits/tokenizer", float("inf"), ("corpora.pydoc.splits.tokenizer: must be a finite number or",)),
    ("corpora/pydoc/splits/tokenizer", True, ("corpora.pydoc.splits.tokenizer: must be a number or", "found true")),
    ("corpora/pydoc/splits/tokenizer", "0.4", ("corpora.pydoc.splits.tokenizer: must be a number or", "found '0.4'")),
    ("corpora/pydoc/splits/tokenizer", 2.5, ("the shares add up to 3",)),
    ("corpora/pydoc/shards", 10_000, ("corpora.pydoc.shards: must be at most 9999",)),
    ("corpora/pydoc/shards", -1, ("corpora.pydoc.shards: must be at least 1",)),
    ("corpora/pydoc/parts", 0, ("corpora.pydoc.parts: must be at least 1",)),
    ("corpora/pydoc/parts", 2, ("corpora.pydoc.parts: a source of type 'embedded' has no parts; leave the key out",)),
    ("seed", -1, ("seed: must be at least 0",)),
    ("models/tiny", {"preset": "tiny", "seed": 2**32}, ("models.tiny.seed: must be at most 4294967295",)),
    ("models/tiny", {"preset": "tiny", "seed": -1}, ("models.tiny.seed: must be at least 0",)),
    ("models/tiny", {"preset": "tiny", "microbatch": 0}, ("models.tiny.microbatch: must be at least 1",)),
    (
        "models/tiny",
        {"preset": "tiny", "microbatch": True},
        ("models.tiny.microbatch: must be a whole number or auto",),
    ),
    ("models/tiny", {"preset": "tiny", "batch": 2**31}, ("models.tiny.batch: must be at most 2147483647",)),
    ("models/tiny", {"preset": "tiny", "batches": 0}, ("models.tiny.batches: must be at least 1",)),
    ("models/tiny", {"preset": "tiny", "max_seq_len": 2**31}, ("models.tiny.max_seq_len: must be at most 16777216",)),
    ("models/tiny", {"preset": "tiny", "betas": [0.9, 1.5]}, ("models.tiny.betas.1: must be less than 1",)),
    ("models/tiny", {"preset": "tiny", "betas": [0.9]}, ("models.tiny.betas",)),
    ("models/tiny", {"preset": "tiny", "epochs": float("nan")}, ("models.tiny.epochs: must be a finite number",)),
    ("models/tiny", {"preset": "tiny", "clip_qkv": "6"}, ("models.tiny.clip_qkv: must be a number (found '6')",)),
    ("models/tiny", {"preset": 3}, ("models.tiny: '3' is not a model preset",)),
    ("models/tiny", None, ("models.tiny: must be a name or a mapping",)),
    ("byte_lms/tiny", {"preset": "tiny", "steps": 0}, ("byte_lms.tiny.steps: must be at least 1",)),
    ("byte_lms/tiny", {"preset": "tiny", "batch": -8}, ("byte_lms.tiny.batch: must be at least 1",)),
    ("byte_lms/tiny", {"preset": "tiny", "eps": 0}, ("byte_lms.tiny.eps: must be more than 0",)),
    ("byte_lms/tiny", {"preset": "tiny", "tied_embeddings": "yes"}, ("must be true or false (found 'yes')",)),
    ("byte_lms/tiny", {"preset": "tiny", "tied_embeddings": 1}, ("must be true or false (found 1)",)),
    ("byte_lms/tiny", {"kind": "ngram", "order": 7}, ("byte_lms.tiny.order: must be at most 6",)),
    (
        "byte_lms/tiny",
        {"preset": "ngram", "score_context": "dataset"},
        (
            "byte_lms.tiny: 'score_context' is an option of neural models; n-grams are counted and scored within "
            "single documents, so remove this key",
        ),
    ),
    (
        "byte_lms/tiny",
        {"preset": "tiny", "score_context": "corpus"},
        ("byte_lms.tiny.score_context: 'corpus' is not one of document, dataset.",),
    ),
    ("byte_lms/tiny", {"kind": "markov"}, ("byte_lms.tiny: 'markov' is not one of neural, ngram",)),
    ("tasks", {"seed": -1}, ("tasks.seed: must be at least 0",)),
    ("tasks", {"questions": 0}, ("tasks.questions: must be at least 1",)),
    ("suites/offline", {"preset": "offline", "limit": 0}, ("suites.offline.limit: must be at least 1",)),
    ("suites/offline", {"preset": "offline", "fewshot_seed": -1}, ("suites.offline.fewshot_seed: must be at least 0",)),
    ("suites/offline", {"preset": "offline", "fewshot_seed": 2**32}, ("fewshot_seed: must be at most 4294967295",)),
    ("metrics", {"renyi": {"orders": [float("inf")]}}, ("metrics.renyi.orders.0: must be a finite number",)),
    ("metrics", {"renyi": {"orders": [0]}}, ("metrics.renyi.orders.0: must be more than 0",)),
    ("metrics", {"renyi": {"orders": ["2"]}}, ("metrics.renyi.orders.0: must be a number (found '2')",)),
    ("metrics", {"frequency": {"percentiles": [0]}}, ("metrics.frequency.percentiles.0: must be at least 1",)),
    ("metrics", {"frequency": {"percentiles": [101]}}, ("metrics.frequency.percentiles.0: must be at most 100",)),
    ("variants/bpe/sizes", [True], ("variants.bpe.sizes.0: must be a whole number (found true)",)),
    ("variants/bpe/sizes", [2**31], ("variants.bpe.sizes.0: must be at most 16777216",)),
    ("variants/bpe/construction", {"method": "bpe", "max_token_bytes": 1}, ("max_token_bytes: must be at least 2",)),
    ("variants/bpe/construction", {"method": "bpe", "max_token_bytes": 2**31}, ("must be at most 2147483647",)),
    ("variants/bpe/construction", {"method": True}, ("is not one of boundlessbpe",)),
    ("variants/pathpiece/construction/initial_size", 2**31, ("initial_size: must be at most 16777216",)),
    ("variants/pathpiece/construction/schedule", [2**31], ("schedule.0: must be at most",)),
    ("variants/bpe/segmentation", {"method": "bpe_dropout", "dropout": 1.5}, ("dropout: must be at most 1",)),
    ("variants/bpe/segmentation", {"method": "bpe_dropout", "seed": -1}, ("seed: must be at least 0",)),
    ("corpora/pydoc/source", {"type": "embedded", "max_documents": 0}, ("max_documents: must be at least 1",)),
    ("corpora/pydoc/source", {"type": "embedded", "max_documents": True}, ("must be a whole number (found true)",)),
    ("corpora/pydoc/source", {"type": "parquet", "path": 3}, ("corpora.pydoc.source.path: must be",)),
    ("corpora/pydoc/source", {"type": "embedded", "languages": "en"}, ("languages: must be a list",)),
    (
        "corpora/pydoc/source",
        {"type": "embedded", "rename_languages": {"en": ""}},
        ("corpora.pydoc.source.rename_languages.en: must have 1 or more characters (found '')",),
    ),
    ("report", {"examples": [""]}, ("report.examples.0: must have 1 or more characters (found '')",)),
    ("report", {"examples": ["x" * 501]}, ("report.examples.0: must have 500 characters at most (found 'xxx",)),
    (
        "suites/offline",
        {"preset": "offline", "num_fewshot": 17},
        ("suites.offline.num_fewshot: 17 examples, and tasks.fewshot_pool is 16; raise it, or ask for fewer",),
    ),
    (
        "suites/offline",
        {"preset": "offline", "overrides": {"last_word": {"num_fewshot": 17}}},
        ("suites.offline.overrides.last_word.num_fewshot: 17 examples, and tasks.fewshot_pool is 16",),
    ),
    (
        "tasks",
        {"tasks": ["continuation", "last_word", "unperturbed"]},
        ("suites.offline.tasks: 'word_order' is not a task under tasks.tasks (continuation",),
    ),
    # Names
    ("corpora", {"a" * 65: {"source": "embedded"}}, (f"corpora.{'a' * 65}: must have 64 characters at most",)),
    (
        "models",
        {"m" + "ab" * 20: "tiny"},
        (f"models.m{'ab' * 20}: 'm{'ab' * 20}' ends with 'ab' 20 times or more, which Snakemake rejects; shorten it",),
    ),
    ("name", "x" * 20, (f"name: '{'x' * 20}' ends with 'x' 20 times or more",)),
    # Lists with an entry twice
    ("sizes", [512, 1024, 512], ("sizes: 512 is listed twice; remove one",)),
    ("variants/bpe/sizes", [512, 512], ("variants.bpe.sizes: 512 is listed twice",)),
    ("variants/bpe/measured_on", ["pydoc", "pydoc"], ("variants.bpe.measured_on: 'pydoc' is listed twice",)),
    ("measured_on", ["pydoc", "pydoc"], ("measured_on: 'pydoc' is listed twice",)),
    ("metrics", {"renyi": {"orders": [2.5, 2.50]}}, ("metrics.renyi.orders: 2.5 is listed twice",)),
    ("metrics", {"frequency": {"percentiles": [5, 5]}}, ("metrics.frequency.percentiles: 5 is listed twice",)),
    ("ngram_bits", {"training_bytes": [9, 9]}, ("ngram_bits.training_bytes: 9 is listed twice",)),
    ("tasks", {"tasks": ["last_word", "last_word"]}, ("tasks.tasks: 'last_word' is listed twice",)),
    ("suites/offline", {"tasks": ["last_word", "last_word"]}, ("suites.offline.tasks: 'last_word' is listed twice",)),
    ("models/tiny", {"preset": "tiny", "evaluate_at": [0.5, 0.5]}, ("models.tiny.evaluate_at: 0.5 is listed twice",)),
    (
        "models/tiny",
        {"preset": "tiny", "batches": 4, "evaluate_at": [0.001, 0.002]},
        ("models.tiny: evaluate_at: 0.001 and 0.002 of 4 batches are one checkpoint; leave one out",),
    ),
    ("runs/0/models", ["tiny", "tiny"], ("runs.0.models: 'tiny' is listed twice",)),
    ("runs/0/variants", ["bpe", "bpe"], ("runs.0.variants: 'bpe' is listed twice",)),
    ("runs/0/suites", ["offline", "offline"], ("runs.0.suites: 'offline' is listed twice",)),
    ("runs/0/sizes", [1024, 1024], ("runs.0.sizes: 1024 is listed twice",)),
    ("report", {"venn": ["bpe", "span", "bpe"]}, ("report.venn: 'bpe' is listed twice",)),
    ("report", {"examples": ["a", "a"]}, ("report.examples: 'a' is listed twice",)),
    ("corpora/pydoc/source", {"type": "embedded", "languages": ["en", "en"]}, ("languages: 'en' is listed twice",)),
    ("corpora/pydoc/source", {"type": "text", "path": ["a", "a"]}, ("source.path: 'a' is listed twice",)),
    ("report", {"title": True}, ("report.title: must be text",)),
    ("report", {"venn": ["bpe", "span", "pathpiece", "bpe"]}, ("report.venn: accepts at most 3 entries",)),
    ("results", 3, ("results: must be text",)),
    ("name", "published", ("name: results/published is reserved for tables", "choose another name")),
    ("released", "nowhere", ("released: nowhere is not a folder",)),
    ("runs", {"models": ["tiny"]}, ("runs: must be a list",)),
    ("runs/0/sizes", [True], ("runs.0.sizes.0: must be a whole number",)),
    ("byte_lms", {}, ("variants.span.byte_lm: 'tiny' is not a byte language model (there is none).",)),
    *(
        (section, {**beside, key: value}, (f"{section.replace('/', '.')}.{key}: {expected}",))
        for keys, wrong in ((WHOLE_KEYS, NOT_WHOLE), (REAL_KEYS, NOT_REAL))
        for section, beside, key in keys
        for value, expected in wrong
    ),
]
"""Invalid values of configuration keys."""

GONE = object()


def changed(values: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the configuration with one key set or removed."""
    *parents, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    here: Any = values
    for step in parents:
        here = here[step]
    if value is GONE:
        del here[last]
    else:
        here[last] = value
    return values
