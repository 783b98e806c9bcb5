"""Hugging Face language model for lm-eval, with consistent encoding of contexts and choices for every tokenizer."""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tokbench.errors import TokbenchError
from tokbench.evaluation.coverings import (
    Coverings,
    Encode,
    EncodedChoices,
    Ids,
    LogProbabilities,
    Spellings,
    common_prefix,
    coverings,
    encode_choices,
    greedy,
    log_covered,
    log_probability,
    log_sum,
)
from tokbench.evaluation.suites import StartToken

Request = tuple[tuple[str, str], list[int], list[int]]
READ = 64
"""Number of sequences whose probabilities are in memory at a time."""


@dataclass(slots=True)
class Boundary:
    """Token boundaries of one question.

    Attributes:
        tokens: number of tokens of each choice, including partial ones.
        straddling: indices of choices where the context's own tokens are not a prefix of the tokens of context and
            choice.
        unwritten: upper bound in nats on the increase of the context's log-probability from coverings that no encoded
            text has; 0 without straddling choices, None if the bytes of the tokens are unknown.
    """

    tokens: list[int] = field(default_factory=list)
    straddling: list[int] = field(default_factory=list)
    unwritten: float | None = 0.0

    def add(self, choices: EncodedChoices, context: int, spellings: Spellings | None) -> None:
        """Add the next choices, whose context has ``context`` bytes."""
        self.straddling += [len(self.tokens) + place for place, straddles in enumerate(choices.straddling) if straddles]
        before = [
            common_prefix([choices.alone, whole]) if spellings is None else spellings.within(whole, context)
            for whole in choices.wholes
        ]
        self.tokens += [len(whole) - count for whole, count in zip(choices.wholes, before, strict=True)]


class ScoringLM(HFLM):
    """Language model with log-likelihoods of choices as defined in :mod:`tokbench.evaluation.coverings`.

    By default the start token is read only where a first token would have no context, as in lm-eval's own model: if the
    context is empty. So it is if a choice straddles and no token of the context is known.

    Some sequences are longer than the model's window. An MPT model has ALiBi and no learnt positions, so its window is
    extended to the longest sequence. For other models, the first tokens of the context are dropped, with the start
    token, the same number for every choice of the question.

    Attributes:
        boundaries: boundaries by task and question.
        truncated_documents: questions with truncated contexts, by task.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        encode: Encode,
        start: int,
        *,
        spellings: Spellings | None,
        window: int,
        batch_size: int,
        start_token: StartToken = "empty_context",
        settled: Callable[[bytes], int] = lambda text: 0,
        draws: Sequence[Encode] = (),
    ) -> None:
        """Wrap a loaded model.

        Args:
            model: a causal language model, on its device.
            tokenizer: the adapter for ``transformers``, which lm-eval requires.
            encode: function from text to ids, without special tokens.
            start: id of the start token.
            spellings: the vocabulary of ``encode``; None if the bytes of its tokens are unknown.
            window: largest number of tokens that the model reads at a time.
            batch_size: sequences per batch, up to the length of the window. Batches of longer ones are smaller.
            start_token: contexts that the start token precedes, see
                :attr:`tokbench.evaluation.suites.SuiteOptions.start_token`. Default: ``empty_context``.
            settled: function that returns the last position of a text at which a token ends for every continuation, see
                :meth:`tokbench.tokenizer.tokenizer.Tokenizer.last_cut`. Default: always 0.
            draws: for a stochastic tokenizer, ``encode`` with other seeds. Default: none.
        """
        super().__init__(
            pretrained=model,
            tokenizer=tokenizer,
            backend="causal",
            batch_size="auto",  # Each call passes its own batch size.
            max_length=window,
            prefix_token_id=start,
        )
        self.encode = encode
        self.most = batch_size, window
        self.start = start
        self.start_token = start_token
        self.spellings = spellings
        self.settled = settled
        self.draws = draws
        self.boundaries: dict[str, dict[int, Boundary]] = defaultdict(dict)
        self.truncated_documents: dict[str, set[int]] = defaultdict(set)

    def encode_choices(self, context: str, choices: Sequence[str]) -> EncodedChoices:
        """Encode the choices after one context, see :func:`tokbench.evaluation.coverings.encode_choices`."""
        return encode_choices(self.encode, context, choices)

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = True) -> list[tuple[float, bool]]:
        """Return for each request the log-likelihood of its choice in nats, and True if greedy decoding yields the
        choice."""
        # Questions have one or more contexts, each with its choices.
        questions: dict[tuple[Any, Any], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for position, request in enumerate(requests):
            questions[request.task_name, request.doc_id][request.args[0]].append(position)
        usual: dict[int, Request] = {}
        scores: dict[int, tuple[float, bool]] = {}
        for (task, document), contexts in questions.items():
            encoded = {
                context: self.encode_choices(context, [requests[place].args[1] for place in places])
                for context, places in contexts.items()
            }
            boundary = Boundary(unwritten=None if self.spellings is None else 0.0)
            self.boundaries[task][document] = boundary
            for context, choices in encoded.items():
                boundary.add(choices, len(context.rstrip().encode()), self.spellings)
            if not all(boundary.tokens):
                raise TokbenchError(f"task {task}, question {document}: a choice is empty; remove the question")

            # Choices that straddle are scored one context at a time, the others in batches below.
            for context, places in contexts.items():
                choices = encoded[context]
                if boundary.straddling and self.spellings is not None:
                    texts = [requests[place].args[1] for place in places]
                    choice_scores = self._score_after_text(self.spellings, context, texts, choices, task, document)
                    scores |= zip(places, choice_scores, strict=True)
                    continue
                shared = common_prefix([choices.alone, *choices.wholes])
                longest = max(map(len, choices.wholes)) - shared - 1
                condition = self._fit(self._begun(choices.alone[:shared]), longest, task, document)
                for place, whole in zip(places, choices.wholes, strict=True):
                    usual[place] = requests[place].args, condition, list(whole[shared:])

        # Batches of sequences of similar length.
        batches: dict[int, list[int]] = defaultdict(list)
        for place, (_, condition, continuation) in usual.items():
            batches[self._rows(len(condition) + len(continuation))].append(place)
        for rows, places in batches.items():
            batch = [usual[place] for place in places]
            scores |= zip(places, self._loglikelihood_tokens(batch, disable_tqdm, override_bs=rows), strict=True)
        return [scores[position] for position in range(len(requests))]

    def _score_after_text(
        self,
        spellings: Spellings,
        context: str,
        texts: Sequence[str],
        choices: EncodedChoices,
        task: str,
        document: int,
    ) -> Iterator[tuple[float, bool]]:
        """Yield scores of the choices given the context's text, summed over its tokenizations, averaged over all
        draws."""
        # Coverings of the end of the context, by draw: those that some encoded text has, and all others.
        text = context.rstrip().encode()
        settled = self.settled(text)
        drawn = [(self.encode, choices), *((encode, encode_choices(encode, context, texts)) for encode in self.draws)]
        ways = [coverings(spellings, encode, text, encoded.wholes, settled) for encode, encoded in drawn]
        wholes = [whole for _, encoded in drawn for whole in encoded.wholes]
        befores = [before for way in ways for part in way for before in part] or [()]

        # Probability of the context's text, after the tokens that all sequences share.
        shared = common_prefix([*befores, *wholes])
        opening = wholes[0][:shared]
        tails = [[{before[shared:]: last for before, last in part.items()} for part in way] for way in ways]
        read = [*(before[shared:] for before in befores), *(whole[shared:-1] for whole in wholes)]
        condition = self._fit(self._begun(opening), max(map(len, read)), task, document)
        written, unwritten = (self._covered(condition, [way[part] for way in tails]) for part in (0, 1))
        covered = written if text else math.log(len(drawn))
        boundary = self.boundaries[task][document]
        boundary.unwritten = max(boundary.unwritten or 0.0, log_sum(np.array([covered, unwritten])) - covered)

        # Probability of context and choice over that of the context.
        known = text[spellings.length(opening) :]
        alone = choices.alone[shared:]
        for number, whole in enumerate(choices.wholes):
            every = [encoded.wholes[number][shared:] for _, encoded in drawn]
            given = self._read_after(condition, [ids[:-1] for ids in every])
            score = log_sum(np.array([log_probability(ids, given(ids[:-1])) for ids in every]))
            own, rows = whole[shared:], given(whole[shared:-1])
            cut = common_prefix([alone, own])
            yield score - covered, greedy(spellings, known, cut, own, rows)

    def _covered(self, condition: list[int], ways: Sequence[Coverings]) -> float:
        """Return the logarithm of the summed probabilities of all coverings of some contexts after a condition."""
        befores = sorted({before for way in ways for before in way})
        terms = [-math.inf]
        for batch in (befores[start : start + READ] for start in range(0, len(befores), READ)):
            given = self._read_after(condition, batch)
            terms += [log_covered({before: way[before] for before in batch if before in way}, given) for way in ways]
        return log_sum(np.array(terms))

    @torch.inference_mode()
    def _read_after(self, opening: list[int], sequences: Iterable[Ids]) -> Callable[[Ids], LogProbabilities]:
        """Return a function to the log-probabilities of the next token after ``opening`` and each prefix of a sequence.

        A sequence that is a prefix of another is not read separately.
        """
        ordered = sorted(set(sequences))
        read = [ids for ids, following in pairwise(ordered) if following[: len(ids)] != ids] + ordered[-1:]
        log_probabilities: list[LogProbabilities] = []
        rows = self._rows(len(opening) + max(map(len, read)))
        for batch in (read[start : start + rows] for start in range(0, len(read), rows)):
            longest = max(map(len, batch))
            padded = [[*opening, *ids, *[0] * (longest - len(ids))] for ids in batch]
            logits = self._model_call(torch.tensor(padded, device=self.device))[:, len(opening) - 1 :]
            log_probabilities += [
                row[: len(ids) + 1].double().log_softmax(-1).cpu().numpy()
                for ids, row in zip(batch, logits, strict=True)
            ]
        return lambda ids: log_probabilities[bisect_left(read, ids)]

    def _rows(self, length: int) -> int:
        """Return the batch size for sequences of this length. The memory of attention grows with the square of the
        length."""
        batch_size, window = self.most
        return max(1, min(batch_size, batch_size * window**2 // length**2))

    def _begun(self, context: Ids) -> list[int]:
        """Return a context after the start token, if that precedes it."""
        return [self.start, *context] if self.start_token == "every_context" or not context else list(context)

    def _fit(self, context: list[int], more: int, task: str, document: int) -> list[int]:
        """Truncate the context if it does not fit into the window together with ``more`` tokens, and the window is
        fixed."""
        excess = len(context) + more - self.max_length
        if excess <= 0:
            return context
        if self.config.model_type == "mpt":
            self._max_length = self.config.max_seq_len = self.max_length + excess
            return context
        if more >= self.max_length:
            raise TokbenchError(
                f"task {task}, question {document}: a choice of {more + 1} tokens exceeds the model's window of "
                f"{self.max_length}; leave the task out or use a model with a longer window"
            )
        self.truncated_documents[task].add(document)
        return context[excess:]
