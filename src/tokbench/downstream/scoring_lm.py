"""lm-eval's Hugging Face language model, with contexts and choices encoded soundly for every tokenizer."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tokbench.downstream.boundary import Encode, EncodedChoices, encode_choices
from tokbench.downstream.coverings import LogProbabilities, Spellings, greedy, log_covering, log_probability
from tokbench.registry import TokbenchError

Request = tuple[tuple[str, str], list[int], list[int]]


@dataclass(slots=True)
class Boundary:
    """The boundaries of one question.

    Attributes:
        tokens: of each choice, how many are scored.
        straddling: the choices whose context's own tokens do not open the whole sequence.
    """

    tokens: list[int] = field(default_factory=list)
    straddling: list[int] = field(default_factory=list)

    def add(self, encoded: EncodedChoices) -> None:
        """Take in the next choices."""
        self.straddling += [len(self.tokens) + place for place, straddles in enumerate(encoded.straddling) if straddles]
        self.tokens += map(len, encoded.continuations)


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
        spellings: Spellings,
        window: int,
        batch_size: int,
    ) -> None:
        """Wrap a loaded model.

        Args:
            model: a causal language model, on its device.
            tokenizer: the Hugging Face face, which lm-eval asks for.
            encode: text to ids, without special tokens.
            start: id of the token that opens every sequence.
            spellings: the vocabulary that ``encode`` writes with.
            window: most tokens that the model reads at a time.
            batch_size: sequences at a time.
        """
        super().__init__(
            pretrained=model,
            tokenizer=tokenizer,
            backend="causal",
            batch_size=batch_size,
            max_length=window,
            prefix_token_id=start,
        )
        self.encode = encode
        self.start = start
        self.spellings = spellings
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
            boundary = self.boundaries[task][document] = Boundary()
            for tokens in encoded.values():
                boundary.add(tokens)
            if not all(boundary.tokens):
                raise TokbenchError(f"task {task}, question {document}: a choice is empty; remove the question")
            common = len(contexts) == 1 and len(boundary.tokens) > 1
            for context, places in contexts.items():
                tokens = encoded[context]
                if boundary.straddling and not common:
                    for place, continuation in zip(places, tokens.continuations, strict=True):
                        scores[place] = self._given_text(tokens, continuation, task, document)
                    continue
                condition = self._fit([self.start, *tokens.context], tokens.continuations, task, document)
                for place, continuation in zip(places, tokens.continuations, strict=True):
                    usual[place] = (context, requests[place].args[1]), condition, continuation
        found = self._loglikelihood_tokens(list(usual.values()), disable_tqdm=disable_tqdm) if usual else []
        scores |= dict(zip(usual, found, strict=True))
        return [scores[position] for position in range(len(requests))]

    def _given_text(
        self, tokens: EncodedChoices, continuation: list[int], task: str, document: int
    ) -> tuple[float, bool]:
        """Score of a choice given the context's text, whatever tokens write it."""
        tail = tokens.alone[len(tokens.context) :]
        condition = self._fit([self.start, *tokens.context], [continuation, tail], task, document)
        first = 1 + self.spellings.reach(condition[1:], tail)  # Before it, no token reaches beyond the context's end.
        opening, shared = condition[:first], condition[first:]
        whole, alone = [*shared, *continuation], [*shared, *tail]
        whole_given, alone_given = self._given(opening, whole), self._given(opening, alone)
        covering = log_covering(self.spellings, alone, whole, alone_given, whole_given)
        known = self.spellings.text(alone)
        return log_probability(whole, whole_given) - covering, greedy(
            self.spellings, known, len(shared), whole, whole_given
        )

    @torch.inference_mode()
    def _given(self, opening: list[int], ids: list[int]) -> LogProbabilities:
        """Log-probabilities of the next token after ``opening`` and each proper prefix of ``ids``."""
        inputs = torch.tensor([[*opening, *ids[:-1]]], device=self.device)
        logits = self._model_call(inputs)[0, len(opening) - 1 :]
        given: LogProbabilities = logits.double().log_softmax(-1).cpu().numpy()
        return given

    def _fit(self, context: list[int], continuations: list[list[int]], task: str, document: int) -> list[int]:
        """The context, shortened where the window cannot be raised to hold it with the longest continuation."""
        longest = max(map(len, continuations))
        excess = len(context) + longest - 1 - self.max_length
        if excess <= 0:
            return context
        if self.config.model_type == "mpt":
            self._max_length = self.config.max_seq_len = self.max_length + excess
            return context
        if longest > self.max_length:
            raise TokbenchError(
                f"task {task}, question {document}: a choice of {longest} tokens exceeds the model's window of "
                f"{self.max_length}; leave the task out or take a model with a longer window"
            )
        self.truncated_documents[task].add(document)
        return context[excess:]
