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
WHOLE = ("ranked", "whole_or_merge")
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
    found: list[Reach] = cached
    return found


def _every_reach(subject: TokenizerUnderTest) -> list[Reach]:
    forms = subject.forms
    alone = subject.each([token for token, _ in forms.values()])
    left = [one for one, ids in zip(forms, alone, strict=True) if ids != [one]]
    proved = _by_segmentation(subject, left)
    cut: set[bytes] = set()
    found = {one: proved.get(one) or _in_context(subject, one, forms[one][0], cut) for one in left}
    return [found.get(one) or Reach(one, token, "alone") for one, (token, _) in forms.items()]


def _by_segmentation(subject: TokenizerUnderTest, ids: Sequence[int]) -> dict[int, Reach]:
    """Find tokens that no pre-token has, from the segmentation of their bytes."""
    tokenizer, found = subject.tokenizer, {}
    method = subject.traits.segmentation
    if method not in (*WHOLE, "merge", "likelihood") or subject.traits.tokens is None:
        return {}
    tokens, places = subject.traits.tokens, {one: place for place, one in enumerate(subject.ids)}
    for one, parts in zip(ids, _segmented(tokenizer, [subject.tokens[one] for one in ids], method), strict=True):
        if parts == [places[one]]:
            continue
        if method == "likelihood" and not _beaten(tokenizer.vocabulary.scores, places[one], parts):
            continue
        if method in WHOLE and (subject.pieces is None or subject.pieces.as_pretoken(subject.tokens[one])):
            continue
        pieces = "|".join(tokens[part].hex(" ") for part in parts)
        found[one] = Reach(one, subject.tokens[one], "segmentation", f"its bytes are always split as {pieces}")
    return found


def _segmented(tokenizer: Any, tokens: Sequence[bytes], method: str) -> list[list[int]]:
    """Segment tokens as pre-tokens, into indices of the vocabulary; only by merges for the methods of :data:`WHOLE`."""
    from tokbench.pretokens import PretokenCounts

    if not tokens:
        return []
    counts = PretokenCounts.from_pairs((token, 1) for token in tokens)
    if method in WHOLE:
        ids, bounds = _merging(tokenizer.vocabulary, method).segment(counts.data, counts.offsets)
    else:
        ids, bounds = tokenizer.segment(counts)
    cut = {token: ids[bounds[place] : bounds[place + 1]].tolist() for place, (token, _) in enumerate(counts.items())}
    return [cut[token] for token in tokens]


def _merging(vocabulary: Any, method: str) -> "MergeSegmenter":
    from tokbench.kernels.merge import MergeSegmenter
    from tokbench.kernels.pairs import pairs_of
    from tokbench.kernels.trie import Trie
    from tokbench.segmentation.merge import byte_ids, joined_bytes, replayed

    if method == "whole_or_merge":
        return MergeSegmenter(*replayed(vocabulary, method))
    data, offsets = vocabulary.flat()
    pairs = pairs_of(Trie(data, offsets), Trie(data, offsets, backwards=True), data, offsets)
    return MergeSegmenter(pairs, byte_ids(vocabulary), joined_bytes(vocabulary), True)


def _beaten(scores: Any, one: int, parts: Sequence[int]) -> bool:
    """Return True if the parts have a higher sum of scores, or the token has none; ties prove nothing."""
    own, other = float(scores[one]), math.fsum(float(scores[part]) for part in parts)
    return own == -math.inf or other > own + MARGIN * (1 + abs(own))


def _in_context(subject: TokenizerUnderTest, one: int, token: bytes, cut: set[bytes]) -> Reach:
    """Search for a text around a token's bytes that produces it.

    Args:
        subject: the tokenizer.
        one: id of the token.
        token: its bytes.
        cut: representatives (:func:`likeness`) that are split in every context; new ones are added.
    """
    boundaries = subject.traits.boundaries if subject.traits.scheme in KERNEL_SCHEMES else None
    alike = b"" if boundaries is None else likeness(token)
    if alike in cut or (boundaries is None and subject.pieces is not None and not subject.pieces.within(token)):
        return Reach(one, token, "pre-tokenization", CUT)
    kept = tried = 0
    for pairs in (contexts(token), rare_contexts(token)):
        for before, after in pairs:
            text = before + token + after
            tried += 1
            if boundaries is not None and _cuts(boundaries, text, len(before), len(before) + len(token)):
                continue
            kept += 1
            try:
                if one in subject.encode(text):
                    return Reach(one, token, "context", text, tried)
            except EncodeError:
                continue
        if boundaries is not None and not kept:
            cut.add(alike)
            return Reach(one, token, "pre-tokenization", CUT, tried)
    if _forbidden(subject, token):
        return Reach(one, token, "normaliser", "the normaliser changes it", tried)
    return Reach(one, token, "search", f"in none of {tried} contexts", tried)


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
TOLD = {
    "segmentation": "by the segmentation (proved)",
    "pre-tokenization": "by the pre-tokenization (proved)",
    "search": "in no tried context (not proved)",
}


def reachable(subject: TokenizerUnderTest) -> Finding:
    """Check that every token is reachable, except those that the normaliser changes."""
    found = [one for one in every_reach(subject) if not one.reached and one.proof != "normaliser"]
    total = len(subject.forms)
    by = {proof: [one for one in found if one.proof == proof] for proof in PROOFS}
    sentence = "; ".join(f"{len(ones):,} {TOLD[proof]}" for proof, ones in by.items() if ones)
    context = sum(one.proof == "context" for one in every_reach(subject))
    sums = {str(proof): len(ones) for proof, ones in by.items()}
    numbers = {"tokens": total, "in_context_only": context, **sums}
    if not found:
        return Finding(True, f"all {total:,} tokens are reachable ({context:,} only in context)", numbers=numbers)
    examples = [_example(one) for ones in by.values() for one in sorted(ones, key=lambda one: len(one.token))[:SHOWN]]
    return Finding(False, f"{of(len(found), total, 'tokens')} are unreachable: {sentence}", examples, numbers)


def not_forbidden(subject: TokenizerUnderTest) -> Finding:
    """Check for tokens that the declared normaliser changes, and that are therefore unreachable."""
    found = [one for one in every_reach(subject) if one.proof == "normaliser"]
    sentence = f"the normaliser changes {of(len(found), len(subject.forms), 'tokens')}"
    return Finding(not found, sentence, [_example(one) for one in found[:SHOWN]], {"tokens": len(found)})


def _example(one: Reach) -> Example:
    return Example(one.token, f"id {one.id}, {one.witness if isinstance(one.witness, str) else ''}")


CHECKS = (
    Check("forbidden", "the normaliser changes no token", "failure", not_forbidden, "C16"),
    Check("reachable", "some text produces each token", "warning", reachable, "C16"),
)
