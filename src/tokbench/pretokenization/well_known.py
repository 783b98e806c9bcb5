"""The pre-tokenizations of well-known tokenizers, as published. That of GPT-2 stands among the built-in ones.

p50k and OLMo are cut as ``gpt2``, OLMo 2 as ``cl100k``. ``(?i:'s)`` stands for an apostrophe before the long s U+017F,
too, which a form with all cases spelled out does not.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.options import Options
from tokbench.pretokenization import Cut, pretokenization

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SUPERBPE_1 = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SUPERBPE_2 = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"
NANOCHAT = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    r"[一-龥\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


def _cut(*patterns: str) -> Cut:
    from tokbench.pretokenization.patterns.cut import cut_by_patterns

    return cut_by_patterns(*patterns)


@pretokenization("cl100k", pattern=CL100K, options=Options, cites=("tiktoken",))
def cl100k(options: Options) -> Cut:
    """GPT-3.5 and GPT-4 (OpenAI's tiktoken, cl100k_base, in its first spelling): numbers in threes from the left.

    The present spelling of tiktoken cuts line feeds and blanks at the end of a text otherwise, to the same ids.
    """
    return _cut(CL100K)


@pretokenization("o200k", pattern=O200K, options=Options, cites=("tiktoken",))
def o200k(options: Options) -> Cut:
    """GPT-4o (OpenAI's tiktoken, o200k_base): as cl100k; a capital after small letters begins a pre-token."""
    return _cut(O200K)


@pretokenization("llama3", pattern=CL100K, options=Options, cites=("llama2024",))
def llama3(options: Options) -> Cut:
    """Llama 3 (its tokenizer.json, as llama.cpp has it): the pattern of cl100k."""
    return _cut(CL100K)


@pretokenization("qwen2", pattern=QWEN2, options=Options, cites=("qwen2024",))
def qwen2(options: Options) -> Cut:
    """Qwen and Qwen 2 (the code beside their rank file): as cl100k, every digit by itself."""
    return _cut(QWEN2)


@pretokenization("deepseek_v3", pattern=DEEPSEEK_V3, options=Options, cites=("deepseek2024",))
def deepseek_v3(options: Options) -> Cut:
    """DeepSeek V3 (its tokenizer.json): numbers, then Chinese and Japanese, then words, each in what is left whole."""
    return _cut(*DEEPSEEK_V3)


@pretokenization("nanochat", pattern=NANOCHAT, options=Options, cites=("nanochat",))
def nanochat(options: Options) -> Cut:
    """nanochat (karpathy/nanochat): as cl100k, numbers in twos from the left."""
    return _cut(NANOCHAT)


@pretokenization("tekken", pattern=TEKKEN, options=Options, cites=("mistral_common",))
def tekken(options: Options) -> Cut:
    """Mistral's Tekken (its tekken.json): as o200k without contractions, every digit by itself."""
    return _cut(TEKKEN)


@pretokenization("superbpe_1", pattern=SUPERBPE_1, options=Options, cites=("liu2025",))
def superbpe_1(options: Options) -> Cut:
    """SuperBPE's first stage (PythonNut/superbpe; Liu et al. 2025): as o200k without contractions."""
    return _cut(SUPERBPE_1)


@pretokenization("superbpe_2", pattern=SUPERBPE_2, options=Options, cites=("liu2025",))
def superbpe_2(options: Options) -> Cut:
    """SuperBPE's second stage (PythonNut/superbpe): words are cut off from numbers and signs alone."""
    return _cut(SUPERBPE_2)
