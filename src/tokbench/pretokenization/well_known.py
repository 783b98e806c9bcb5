"""Pre-tokenizations of well-known tokenizers, as published. GPT-2's is a built-in one.

p50k and OLMo equal ``gpt2``, and OLMo 2 equals ``cl100k``. ``(?i:'s)`` also matches an apostrophe before the long s,
U+017F; a pattern that spells out both cases does not.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.pretokenization import Cut, pretokenization

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN3_5 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
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
NOT_HAN = r"(?=[^\p{Han}])"
UPPER = rf"(?:{NOT_HAN}[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}])"
LOWER = rf"(?:{NOT_HAN}[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}])"
KIMI_K2 = (
    r"[\p{Han}]+"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
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


@pretokenization("cl100k", pattern=CL100K, chosen=True, cites=("tiktoken",))
def cl100k(options: object) -> Cut:
    """GPT-3.5 and GPT-4 (OpenAI's tiktoken, cl100k_base, original pattern): numbers in threes from the left.

    The current pattern of tiktoken splits line feeds and whitespace at the end of a text differently, with the same
    ids.
    """
    return _cut(CL100K)


@pretokenization("o200k", pattern=O200K, chosen=True, cites=("tiktoken",))
def o200k(options: object) -> Cut:
    """GPT-4o (OpenAI's tiktoken, o200k_base): as cl100k, but a capital after small letters begins a pre-token."""
    return _cut(O200K)


@pretokenization("llama3", pattern=CL100K, chosen=True, cites=("llama2024",))
def llama3(options: object) -> Cut:
    """Llama 3 (its tokenizer.json, pattern as in llama.cpp): the pattern of cl100k."""
    return _cut(CL100K)


@pretokenization("qwen2", pattern=QWEN2, chosen=True, cites=("qwen2024",))
def qwen2(options: object) -> Cut:
    """Qwen and Qwen 2 (the code next to their rank file): as cl100k, but every digit is one pre-token."""
    return _cut(QWEN2)


@pretokenization("qwen3_5", pattern=QWEN3_5, chosen=True, cites=("qwen2026",))
def qwen3_5(options: object) -> Cut:
    """Qwen 3.5 and 3.6 (their class in transformers): as qwen2, but marks belong to the letters before them."""
    return _cut(QWEN3_5)


@pretokenization("deepseek_v3", pattern=DEEPSEEK_V3, chosen=True, cites=("deepseek2024",))
def deepseek_v3(options: object) -> Cut:
    """DeepSeek V3 (its tokenizer.json): splits numbers, then Chinese and Japanese, then words, each in the rest."""
    return _cut(*DEEPSEEK_V3)


@pretokenization("kimi_k2", pattern=KIMI_K2, chosen=True, cites=("kimi2025",))
def kimi_k2(options: object) -> Cut:
    """Kimi K2 (the code next to its rank file): as o200k, but Chinese characters are pre-tokens of their own kind.

    There, the pattern has intersections of sets, ``[...&&[^\\p{Han}]]``; here, a look-ahead before each set.
    """
    return _cut(KIMI_K2)


@pretokenization("nanochat", pattern=NANOCHAT, chosen=True, cites=("nanochat",))
def nanochat(options: object) -> Cut:
    """nanochat (karpathy/nanochat): as cl100k, but numbers in twos from the left."""
    return _cut(NANOCHAT)


@pretokenization("tekken", pattern=TEKKEN, chosen=True, cites=("mistral_common",))
def tekken(options: object) -> Cut:
    """Mistral's Tekken (its tekken.json): as o200k without contractions, and every digit is one pre-token."""
    return _cut(TEKKEN)


@pretokenization("superbpe_1", pattern=SUPERBPE_1, chosen=True, cites=("liu2025",))
def superbpe_1(options: object) -> Cut:
    """SuperBPE's first stage (PythonNut/superbpe; Liu et al. 2025): as o200k without contractions."""
    return _cut(SUPERBPE_1)


@pretokenization("superbpe_2", pattern=SUPERBPE_2, chosen=True, cites=("liu2025",))
def superbpe_2(options: object) -> Cut:
    """SuperBPE's second stage (PythonNut/superbpe): words are split only from numbers and symbols."""
    return _cut(SUPERBPE_2)
