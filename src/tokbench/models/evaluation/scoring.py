"""lm-eval's Hugging Face language model, with contexts and choices encoded soundly for every tokenizer."""

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
from tokbench.models.evaluation.coverings import (
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

Request = tuple[tuple[str, str], list[int], list[int]]
READ = 64
"""Sequences whose probabilities are held at a time."""


@dataclass(slots=True)
class Boundary:
    """The boundaries of one question.

    Attributes:
        tokens: of each choice, how many hold some of it.
        straddling: the choices whose context's own tokens do not open the whole sequence.
        unwritten: where there are such, nats by which the probability of a context would be greater, at the most, with
            the coverings that no text which was tried has; None where no bytes are known of the tokens.
    """

    tokens: list[int] = field(default_factory=list)
    straddling: list[int] = field(default_factory=list)
    unwritten: float | None = 0.0

    def add(self, choices: EncodedChoices, context: int, spellings: Spellings | None) -> None:
        """Take in the next choices, of a context of so many bytes."""
        self.straddling += [len(self.tokens) + place for place, straddles in enumerate(choices.straddling) if straddles]
        before = [
            common_prefix([choices.alone, whole]) if spellings is None else spellings.within(whole, context)
            for whole in choices.wholes
        ]
        self.tokens += [len(whole) - count for whole, count in zip(choices.wholes, before, strict=True)]


class ScoringLM(HFLM):
    """Log-likelihoods of choices as ``boundary`` defines them.

    Every sequence opens with the start token, whether the context is empty or not, so that all tokenizers and all
    questions are treated alike.

    Sequences longer than the model's window: an MPT model has ALiBi and no learned positions, so its
    window is raised to the longest sequence; of other models' contexts the first tokens are dropped, as many
    for every choice of the question, and the start token with them.

    Attributes:
        boundaries: by task and question.
        truncated_documents: by task, the questions whose contexts were shortened.
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
        settled: Callable[[bytes], int] = lambda text: 0,
        draws: Sequence[Encode] = (),
    ) -> None:
        """Wrap a loaded model.

        Args:
            model: a causal language model, on its device.
            tokenizer: the adapter for ``transformers``, which lm-eval asks for.
            encode: text to ids, without special tokens.
            start: id of the token that opens every sequence.
            spellings: the vocabulary that ``encode`` writes with; None where no bytes are known of its tokens.
            window: most tokens that the model reads at a time.
            batch_size: sequences at a time that are no longer than the window; of longer ones fewer.
            settled: the last place of a text at which a token ends whatever follows, see
                :meth:`tokbench.tokenizer.Tokenizer.last_cut`.
            draws: of a tokenizer that draws at random, ``encode`` with other draws.
        """
        super().__init__(
            pretrained=model,
            tokenizer=tokenizer,
            backend="causal",
            batch_size="auto",  # As each call says.
            max_length=window,
            prefix_token_id=start,
        )
        self.encode = encode
        self.most = batch_size, window
        self.start = start
        self.spellings = spellings
        self.settled = settled
        self.draws = draws
        self.boundaries: dict[str, dict[int, Boundary]] = defaultdict(dict)
        self.truncated_documents: dict[str, set[int]] = defaultdict(set)

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = True) -> list[tuple[float, bool]]:
        """(log-likelihood in nats, whether greedy decoding gives it) of each request's choice."""
        questions: dict[tuple[Any, Any], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for position, request in enumerate(requests):
            questions[request.task_name, request.doc_id][request.args[0]].append(position)
        usual: dict[int, Request] = {}
        scores: dict[int, tuple[float, bool]] = {}
        for (task, document), contexts in questions.items():
            encoded = {
                context: encode_choices(self.encode, context, [requests[place].args[1] for place in places])
                for context, places in contexts.items()
            }
            boundary = Boundary(unwritten=None if self.spellings is None else 0.0)
            self.boundaries[task][document] = boundary
            for context, choices in encoded.items():
                boundary.add(choices, len(context.rstrip().encode()), self.spellings)
            if not all(boundary.tokens):
                raise TokbenchError(f"task {task}, question {document}: a choice is empty; remove the question")
            for context, places in contexts.items():
                choices = encoded[context]
                if boundary.straddling and self.spellings is not None:
                    texts = [requests[place].args[1] for place in places]
                    found = self._given_text(self.spellings, context, texts, choices, task, document)
                    scores |= zip(places, found, strict=True)
                    continue
                shared = common_prefix([choices.alone, *choices.wholes])
                longest = max(map(len, choices.wholes)) - shared - 1
                condition = self._fit([self.start, *choices.alone[:shared]], longest, task, document)
                for place, whole in zip(places, choices.wholes, strict=True):
                    usual[place] = requests[place].args, condition, list(whole[shared:])
        batches: dict[int, list[int]] = defaultdict(list)
        for place, (_, condition, continuation) in usual.items():
            batches[self._rows(len(condition) + len(continuation))].append(place)
        for rows, places in batches.items():
            some = [usual[place] for place in places]
            scores |= zip(places, self._loglikelihood_tokens(some, disable_tqdm, override_bs=rows), strict=True)
        return [scores[position] for position in range(len(requests))]

    def _given_text(
        self,
        spellings: Spellings,
        context: str,
        texts: Sequence[str],
        choices: EncodedChoices,
        task: str,
        document: int,
    ) -> Iterator[tuple[float, bool]]:
        """Scores of the choices given the context's text, whatever tokens write it; the mean over all draws."""
        text = context.rstrip().encode()
        settled = self.settled(text)
        drawn = [(self.encode, choices), *((encode, encode_choices(encode, context, texts)) for encode in self.draws)]
        ways = [coverings(spellings, encode, text, one.wholes, settled) for encode, one in drawn]
        wholes = [whole for _, one in drawn for whole in one.wholes]
        befores = [before for way in ways for part in way for before in part] or [()]
        shared = common_prefix([*befores, *wholes])
        opening = wholes[0][:shared]
        tails = [[{before[shared:]: last for before, last in part.items()} for part in way] for way in ways]
        read = [*(before[shared:] for before in befores), *(whole[shared:-1] for whole in wholes)]
        condition = self._fit([self.start, *opening], max(map(len, read)), task, document)
        written, unwritten = (self._covered(condition, [way[part] for way in tails]) for part in (0, 1))
        covered = written if text else math.log(len(drawn))
        boundary = self.boundaries[task][document]
        boundary.unwritten = max(boundary.unwritten or 0.0, log_sum(np.array([covered, unwritten])) - covered)
        known = text[spellings.length(opening) :]
        alone = choices.alone[shared:]
        for number, whole in enumerate(choices.wholes):
            every = [one.wholes[number][shared:] for _, one in drawn]
            given = self._given(condition, [ids[:-1] for ids in every])
            score = log_sum(np.array([log_probability(ids, given(ids[:-1])) for ids in every]))
            own, rows = whole[shared:], given(whole[shared:-1])
            cut = common_prefix([alone, own])
            yield score - covered, greedy(spellings, known, cut, own, rows)

    def _covered(self, condition: list[int], ways: Sequence[Coverings]) -> float:
        """Natural logarithm of the sum of the probabilities of all coverings of some ways after a condition."""
        found = sorted({before for way in ways for before in way})
        terms = [-math.inf]
        for some in (found[start : start + READ] for start in range(0, len(found), READ)):
            given = self._given(condition, some)
            terms += [log_covered({before: way[before] for before in some if before in way}, given) for way in ways]
        return log_sum(np.array(terms))

    @torch.inference_mode()
    def _given(self, opening: list[int], sequences: Iterable[Ids]) -> Callable[[Ids], LogProbabilities]:
        """The next token's log-probabilities after ``opening`` and each of the first tokens of a sequence.

        Sequences that open another are not read by themselves, the rows of others are.
        """
        ordered = sorted(set(sequences))
        read = [ids for ids, following in pairwise(ordered) if following[: len(ids)] != ids] + ordered[-1:]
        found = []
        rows = self._rows(len(opening) + max(map(len, read)))
        for batch in (read[start : start + rows] for start in range(0, len(read), rows)):
            longest = max(map(len, batch))
            padded = [[*opening, *ids, *[0] * (longest - len(ids))] for ids in batch]
            logits = self._model_call(torch.tensor(padded, device=self.device))[:, len(opening) - 1 :]
            found += [
                row[: len(ids) + 1].double().log_softmax(-1).cpu().numpy()
                for ids, row in zip(batch, logits, strict=True)
            ]
        return lambda ids: found[bisect_left(read, ids)]

    def _rows(self, length: int) -> int:
        """Sequences at a time of so many tokens: the memory of attention grows with the square of the length."""
        batch_size, window = self.most
        return max(1, min(batch_size, batch_size * window**2 // length**2))

    def _fit(self, context: list[int], more: int, task: str, document: int) -> list[int]:
        """The context, shortened where the window cannot be raised to hold it with so many more tokens."""
        excess = len(context) + more - self.max_length
        if excess <= 0:
            return context
        if self.config.model_type == "mpt":
            self._max_length = self.config.max_seq_len = self.max_length + excess
            return context
        if more >= self.max_length:
            raise TokbenchError(
                f"task {task}, question {document}: a choice of {more + 1} tokens exceeds the model's window of "
                f"{self.max_length}; leave the task out or take a model with a longer window"
            )
        self.truncated_documents[task].add(document)
        return context[excess:]
