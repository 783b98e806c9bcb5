"""Unreachable tokens: tokens that no text produces, each with a proof or an unsuccessful search.

A token is reachable if its own bytes encode to it. Otherwise these are tried in order:

- **segmentation**: the segmentation of its bytes proves that no pre-token has it. Merges: no merge of the token crosses
  its ends, so it must arise from its bytes. Scores: if other tokens of its bytes have a higher sum, they replace it in
  any text. If a pre-token that is a token is not segmented, there are two conditions: merges do not produce the token,
  and it is not a complete pre-token of any text (see :mod:`tokbench.inspection.checks.contexts`).
- **context**: a text around its bytes produces it. That text is the witness.
- **pre-tokenization**: a built-in pre-tokenization splits its bytes in every context, or compiled patterns do in every
  state of their automaton (see :mod:`tokbench.inspection.checks.contexts`).
- **search**: no proof, and no context that was tried produces it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tokbench.inspection.checks.contexts import contexts, likeness, rare_contexts
from tokbench.inspection.checks.finding import Check, Example, Finding, of
from tokbench.inspection.checks.subject import EncodeError, TokenizerUnderTest
from tokbench.pretokenization import Boundaries
from tokbench.pretokenization.built_in import KERNEL_SCHEMES

if TYPE_CHECKING:
    from tokbench.kernels.merge import MergeSegmenter

Proof = Literal["alone", "context", "segmentation", "pre-tokenization", "normaliser", "search"]
MARGIN = 1e-9
"""Relative margin by which a sum of scores must exceed a token's score, to rule out rounding."""
SHOWN = 5
WHOLE_TOKEN_METHODS = ("ranked", "whole_or_merge")
"""Segmentations that do not segment a pre-token that is a token."""
CUT = "every text is split within its bytes"


@dataclass(frozen=True)
class Reach:
    """Reachability of a token.

    Attributes:
        id: id of the token.
        token: its bytes.
        proof: kind of evidence that it is reachable (``alone``, ``context``) or not.
        witness: a text that produces it, or the reason why none does.
        tried: number of contexts tried.
    """

    id: int
    token: bytes
    proof: Proof
    witness: str | bytes = b""
    tried: int = 0

    @property
    def reached(self) -> bool:
        """True if some text produces it."""
        return self.proof in ("alone", "context")


def every_reach(subject: TokenizerUnderTest) -> list[Reach]:
    """Return the reachability of every token; cached on the subject."""
    cached = subject.__dict__.get("_reach")
    if cached is None:
        cached = subject.__dict__["_reach"] = _every_reach(subject)
    reaches: list[Reach] = cached
    return reaches


def _every_reach(subject: TokenizerUnderTest) -> list[Reach]:
    forms = subject.forms
    alone = subject.encode_each([token for token, _ in forms.values()])
    left = [token_id for token_id, ids in zip(forms, alone, strict=True) if ids != [token_id]]
    proved = _by_segmentation(subject, left)
    cut: set[bytes] = set()
    starts = _longest_starts(subject, alone)
    reaches = {
        token_id: proved.get(token_id)
        or _in_context(subject, token_id, forms[token_id][0], cut, starts if forms[token_id][1] else ())
        for token_id in left
    }
    return [reaches.get(token_id) or Reach(token_id, token, "alone") for token_id, (token, _) in forms.items()]


def _longest_starts(subject: TokenizerUnderTest, alone: Sequence[list[int] | None]) -> list[bytes]:
    """Return the longest tokens that match at the start of a pre-token.

    A continuation token follows another token, and a short one such as ``1`` might be extended by its first bytes.

    Args:
        subject: the tokenizer.
        alone: ids of the bytes of each token.
    """
    starts = [
        token
        for (token_id, (token, inside)), ids in zip(subject.forms.items(), alone, strict=True)
        if not inside and ids == [token_id]
    ]
    return sorted(starts, key=len, reverse=True)[:SHOWN]


def _by_segmentation(subject: TokenizerUnderTest, ids: Sequence[int]) -> dict[int, Reach]:
    """Find tokens that no pre-token has, from the segmentation of their bytes."""
    tokenizer, reaches = subject.tokenizer, {}
    method = subject.traits.segmentation
    if method not in (*WHOLE_TOKEN_METHODS, "merge", "likelihood") or subject.traits.tokens is None:
        return {}
    tokens, places = subject.traits.tokens, {token_id: place for place, token_id in enumerate(subject.ids)}
    for token_id, parts in zip(
        ids, _segmented(tokenizer, [subject.tokens[token_id] for token_id in ids], method), strict=True
    ):
        if parts == [places[token_id]]:
            continue
        if method == "likelihood" and not _beaten(tokenizer.vocabulary.scores, places[token_id], parts):
            continue
        if method in WHOLE_TOKEN_METHODS and (
            subject.pieces is None or subject.pieces.is_pretoken(subject.tokens[token_id])
        ):
            continue
        pieces = "|".join(tokens[part].hex(" ") for part in parts)
        reaches[token_id] = Reach(
            token_id, subject.tokens[token_id], "segmentation", f"its bytes are always split as {pieces}"
        )
    return reaches


def _segmented(tokenizer: Any, tokens: Sequence[bytes], method: str) -> list[list[int]]:
    """Segment tokens as pre-tokens, into indices of the vocabulary; only by merges for the methods of :data:`WHOLE`."""
    from tokbench.pretokens import PretokenCounts

    if not tokens:
        return []
    counts = PretokenCounts.from_pairs((token, 1) for token in tokens)
    if method in WHOLE_TOKEN_METHODS:
        ids, bounds = _merging(tokenizer.vocabulary, method).segment(counts.data, counts.offsets)
    else:
        ids, bounds = tokenizer.segment(counts)
    cut = {token: ids[bounds[place] : bounds[place + 1]].tolist() for place, (token, _) in enumerate(counts.items())}
    return [cut[token] for token in tokens]


def _merging(vocabulary: Any, method: str) -> "MergeSegmenter":
    from tokbench.kernels.merge import MergeSegmenter
    from tokbench.kernels.pairs import pairs_of
    from tokbench.kernels.trie import Trie
    from tokbench.segmentation.merge import byte_ids, joined_bytes, replay_merges

    if method == "whole_or_merge":
        return MergeSegmenter(*replay_merges(vocabulary, method))
    data, offsets = vocabulary.flat()
    pairs = pairs_of(Trie(data, offsets), Trie(data, offsets, backwards=True), data, offsets)
    return MergeSegmenter(pairs, byte_ids(vocabulary), joined_bytes(vocabulary), True)


def _beaten(scores: Any, token_id: int, parts: Sequence[int]) -> bool:
    """Return True if the parts have a higher sum of scores, or the token has none; ties prove nothing."""
    own, other = float(scores[token_id]), math.fsum(float(scores[part]) for part in parts)
    return own == -math.inf or other > own + MARGIN * (1 + abs(own))


def _in_context(
    subject: TokenizerUnderTest, token_id: int, token: bytes, cut: set[bytes], starts: Sequence[bytes] = ()
) -> Reach:
    """Search for a text around a token's bytes that produces it.

    Args:
        subject: the tokenizer.
        token_id: id of the token.
        token: its bytes.
        cut: representatives (:func:`likeness`) that are split in every context; new ones are added.
        starts: bytes that are tried before the token, in addition to its contexts (default: none).
    """
    boundaries = subject.traits.boundaries if subject.traits.scheme in KERNEL_SCHEMES else None
    alike = b"" if boundaries is None else likeness(token)
    if alike in cut or (boundaries is None and subject.pieces is not None and not subject.pieces.fits_pretoken(token)):
        return Reach(token_id, token, "pre-tokenization", CUT)
    kept = tried = 0
    for pairs in (contexts(token), rare_contexts(token), [(start, b"") for start in starts]):
        for before, after in pairs:
            text = before + token + after
            tried += 1
            if boundaries is not None and _cuts(boundaries, text, len(before), len(before) + len(token)):
                continue
            kept += 1
            try:
                if token_id in subject.encode(text):
                    return Reach(token_id, token, "context", text, tried)
            except EncodeError:
                continue
        if boundaries is not None and not kept:
            cut.add(alike)
            return Reach(token_id, token, "pre-tokenization", CUT, tried)
    if _forbidden(subject, token):
        return Reach(token_id, token, "normaliser", "the normaliser changes it", tried)
    return Reach(token_id, token, "search", f"in none of {tried} contexts", tried)


def _cuts(boundaries: Boundaries, text: bytes, start: int, end: int) -> bool:
    """Return True if a pre-tokenization splits a text strictly between two offsets."""
    bounds = np.asarray(boundaries(text))
    return bool(np.any((bounds > start) & (bounds < end)))


def _forbidden(subject: TokenizerUnderTest, token: bytes) -> bool:
    """Return True if the declared normaliser changes a token's text."""
    normalized = subject.traits.normalized
    if normalized is None:
        return False
    try:
        text = token.decode()
        return bool(normalized(text) != text)
    except UnicodeDecodeError:
        return False


PROOFS: tuple[Proof, ...] = ("segmentation", "pre-tokenization", "search")
REASONS = {
    "segmentation": "by the segmentation (proved)",
    "pre-tokenization": "by the pre-tokenization (proved)",
    "search": "in no tried context (not proved)",
}


def reachable(subject: TokenizerUnderTest) -> Finding:
    """Check that every token is reachable, except those that the normaliser changes."""
    unreachable = [reach for reach in every_reach(subject) if not reach.reached and reach.proof != "normaliser"]
    total = len(subject.forms)
    by = {proof: [reach for reach in unreachable if reach.proof == proof] for proof in PROOFS}
    sentence = "; ".join(f"{len(ones):,} {REASONS[proof]}" for proof, ones in by.items() if ones)
    context = sum(reach.proof == "context" for reach in every_reach(subject))
    sums = {str(proof): len(ones) for proof, ones in by.items()}
    numbers = {"tokens": total, "in_context_only": context, **sums}
    if not unreachable:
        return Finding(True, f"all {total:,} tokens are reachable ({context:,} only in context)", numbers=numbers)
    examples = [
        _example(reach) for ones in by.values() for reach in sorted(ones, key=lambda reach: len(reach.token))[:SHOWN]
    ]
    return Finding(False, f"{of(len(unreachable), total, 'tokens')} are unreachable: {sentence}", examples, numbers)


def not_forbidden(subject: TokenizerUnderTest) -> Finding:
    """Check for tokens that the declared normaliser changes, and that are therefore unreachable."""
    forbidden = [reach for reach in every_reach(subject) if reach.proof == "normaliser"]
    sentence = f"the normaliser changes {of(len(forbidden), len(subject.forms), 'tokens')}"
    return Finding(
        not forbidden, sentence, [_example(reach) for reach in forbidden[:SHOWN]], {"tokens": len(forbidden)}
    )


def _example(reach: Reach) -> Example:
    return Example(reach.token, f"id {reach.id}, {reach.witness if isinstance(reach.witness, str) else ''}")


CHECKS = (
    Check("forbidden", "the normaliser changes no token", "failure", not_forbidden, "C16"),
    Check("reachable", "some text produces each token", "warning", reachable, "C16"),
)
