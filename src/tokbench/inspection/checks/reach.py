"""Tokens that no text gives, each with what shows it: a proof, or a search that found nothing.

A token whose own bytes encode to it is reached. For the others, in this order:

- **segmentation**: how a pre-token of its bytes is cut shows that none has it. Merges that make a token make it of its
  bytes alone, because none of them crosses its ends; and where other tokens of its bytes have a greater sum of scores,
  they would take its place in any text. Where pre-tokens that are tokens are taken whole, merges must not make it, and
  no text may have it as a pre-token by itself, see :mod:`tokbench.inspection.checks.contexts`.
- **context**: a text around its bytes has it. That text is its witness.
- **pre-tokenization**: a built-in one cuts its bytes in every context, see :mod:`tokbench.inspection.checks.contexts`,
  or patterns that are compiled do in every state of their automaton, see :mod:`tokbench.inspection.checks.contexts`.
- **search**: none of those, and no context has it. That is no proof.
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
"""Nats by which a sum of scores must be greater than a token's own; rounding may account for less."""
SHOWN = 5
WHOLE = ("ranked", "whole_or_merge")
"""Segmentations that take a pre-token that is a token whole."""
CUT = "every text is cut within its bytes"


@dataclass(frozen=True)
class Reach:
    """Whether a text gives a token.

    Attributes:
        id: the token's.
        token: its bytes.
        proof: what shows that one does (``alone``, ``context``) or that none does.
        witness: a text that gives it; of a segmentation's proof what its bytes give instead.
        tried: contexts that were tried.
    """

    id: int
    token: bytes
    proof: Proof
    witness: str | bytes = b""
    tried: int = 0

    @property
    def reached(self) -> bool:
        """Whether some text gives it."""
        return self.proof in ("alone", "context")


def every_reach(subject: TokenizerUnderTest) -> list[Reach]:
    """How every token is reached, or why not."""
    cached = subject.__dict__.get("_reach")
    if cached is None:
        cached = subject.__dict__["_reach"] = _every_reach(subject)
    found: list[Reach] = cached
    return found


def _every_reach(subject: TokenizerUnderTest) -> list[Reach]:
    forms = subject.forms
    left = [one for one, (token, _) in forms.items() if not _alone(subject, one, token)]
    proved = _by_segmentation(subject, left)
    cut: set[bytes] = set()
    found = {one: proved.get(one) or _in_context(subject, one, forms[one][0], cut) for one in left}
    return [found.get(one) or Reach(one, token, "alone") for one, (token, _) in forms.items()]


def _alone(subject: TokenizerUnderTest, one: int, token: bytes) -> bool:
    try:
        return subject.encode(token) == [one]
    except EncodeError:
        return False


def _by_segmentation(subject: TokenizerUnderTest, ids: Sequence[int]) -> dict[int, Reach]:
    """Tokens that no pre-token has, by what a pre-token of their bytes becomes."""
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
        if method in WHOLE and (subject.pieces is None or subject.pieces.alone(subject.tokens[one])):
            continue
        pieces = "|".join(tokens[part].hex(" ") for part in parts)
        found[one] = Reach(one, subject.tokens[one], "segmentation", f"its bytes are always cut as {pieces}")
    return found


def _segmented(tokenizer: Any, tokens: Sequence[bytes], method: str) -> list[list[int]]:
    """How pre-tokens of these bytes are cut, as places in the vocabulary; by merges alone where they would be whole."""
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
    """Whether the parts have a greater sum of scores; ties, and bytes without a score, prove nothing."""
    own, other = float(scores[one]), math.fsum(float(scores[part]) for part in parts)
    return own == -math.inf or other > own + MARGIN * (1 + abs(own))


def _in_context(subject: TokenizerUnderTest, one: int, token: bytes, cut: set[bytes]) -> Reach:
    """A text around a token's bytes that gives it, or what the search for one shows.

    Args:
        subject: the tokenizer.
        one: the token's id.
        token: its bytes.
        cut: likenesses that the pre-tokenization cuts in every context; what is found is added.
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
    """Whether a pre-tokenization cuts a text strictly between two places."""
    bounds = np.asarray(boundaries(text))
    return bool(np.any((bounds > start) & (bounds < end)))


def _forbidden(subject: TokenizerUnderTest, token: bytes) -> bool:
    """Whether the declared normaliser makes something else of a token's text."""
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
    "search": "in no context that was tried (not proved)",
}


def reachable(subject: TokenizerUnderTest) -> Finding:
    """Every token that the normaliser, if there is one, leaves as it is."""
    found = [one for one in every_reach(subject) if not one.reached and one.proof != "normaliser"]
    total = len(subject.forms)
    by = {proof: [one for one in found if one.proof == proof] for proof in PROOFS}
    told = "; ".join(f"{len(ones):,} {TOLD[proof]}" for proof, ones in by.items() if ones)
    context = sum(one.proof == "context" for one in every_reach(subject))
    sums = {str(proof): len(ones) for proof, ones in by.items()}
    numbers = {"tokens": total, "in_context_only": context, **sums}
    if not found:
        return Finding(True, f"a text gives each of {total:,} tokens ({context:,} only in context)", numbers=numbers)
    examples = [_example(one) for ones in by.values() for one in sorted(ones, key=lambda one: len(one.token))[:SHOWN]]
    return Finding(False, f"{of(len(found), total, 'tokens')} come out of no text: {told}", examples, numbers)


def not_forbidden(subject: TokenizerUnderTest) -> Finding:
    """Tokens that the declared normaliser changes, so that no text gives them."""
    found = [one for one in every_reach(subject) if one.proof == "normaliser"]
    told = f"the normaliser changes {of(len(found), len(subject.forms), 'tokens')}"
    return Finding(not found, told, [_example(one) for one in found[:SHOWN]], {"tokens": len(found)})


def _example(one: Reach) -> Example:
    return Example(one.token, f"id {one.id}, {one.witness if isinstance(one.witness, str) else ''}")


CHECKS = (
    Check("forbidden", "the normaliser forbids no token", "failure", not_forbidden, "C16"),
    Check("reachable", "a text gives each token", "warning", reachable, "C16"),
)
