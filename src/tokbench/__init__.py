"""Tokbench: a benchmark harness for tokenizers.

Typical steps: :func:`count` pre-tokens, :func:`build` tokenizers from them, :func:`load` or :func:`wrap` others,
:func:`measure` one, :func:`compare` several. ``tokbench.constructions``, ``.segmentations``, ``.pretokenizations``,
``.metrics``, ``.corpus_formats`` and ``.resource_types`` are the registries of methods. Each name is imported on first
use.

After this import, ``transformers.AutoTokenizer`` opens Tokbench's tokenizer folders. The class is registered when
``transformers`` first imports its tokenizers, so the import of this package stays fast.
"""

from typing import TYPE_CHECKING, Any

from tokbench import auto_tokenizer

if TYPE_CHECKING:
    from tokbench.adapters.load import load, wrap
    from tokbench.api import build, compare, count, count_files, measure
    from tokbench.api.ids import bits_per_byte, decode_stream, token_bytes
    from tokbench.api.inspect import bound, check, ngram_bits, read_results, show
    from tokbench.api.texts import read
    from tokbench.construction import constructions
    from tokbench.corpus.formats import corpus_formats
    from tokbench.errors import TokbenchError
    from tokbench.metric import metrics
    from tokbench.pretokenization import schemes as pretokenizations
    from tokbench.pretokens import PretokenCounts
    from tokbench.resource import resource_types
    from tokbench.segmentation import segmentations
    from tokbench.tokenizer import Tokenizer
    from tokbench.vocabulary import Vocabulary

__version__ = "0.1.0"
__all__ = [
    "PretokenCounts",
    "TokbenchError",
    "Tokenizer",
    "Vocabulary",
    "bits_per_byte",
    "bound",
    "build",
    "check",
    "compare",
    "constructions",
    "corpus_formats",
    "count",
    "count_files",
    "decode_stream",
    "load",
    "measure",
    "metrics",
    "ngram_bits",
    "pretokenizations",
    "read",
    "read_results",
    "resource_types",
    "segmentations",
    "show",
    "token_bytes",
    "wrap",
]

_MODULES = {
    "PretokenCounts": "pretokens",
    "TokbenchError": "errors",
    "Tokenizer": "tokenizer",
    "Vocabulary": "vocabulary",
    "bits_per_byte": "api.ids",
    "bound": "api.inspect",
    "build": "api",
    "check": "api.inspect",
    "compare": "api",
    "constructions": "construction",
    "corpus_formats": "corpus.formats",
    "count": "api",
    "count_files": "api",
    "decode_stream": "api.ids",
    "load": "adapters.load",
    "measure": "api",
    "metrics": "metric",
    "ngram_bits": "api.inspect",
    "pretokenizations": "pretokenization",
    "read": "api.texts",
    "read_results": "api.inspect",
    "resource_types": "resource",
    "segmentations": "segmentation",
    "show": "api.inspect",
    "token_bytes": "api.ids",
    "wrap": "adapters.load",
}
"""The module that defines each public name."""
_RENAMED = {"pretokenizations": "schemes"}
"""Public names that their module defines under another name."""

auto_tokenizer.register_when_imported()


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(f"module 'tokbench' has no attribute '{name}'")
    value = getattr(import_module(f"tokbench.{_MODULES[name]}"), _RENAMED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
