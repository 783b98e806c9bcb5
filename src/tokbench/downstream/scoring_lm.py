"""lm-eval's Hugging Face language model, with contexts and choices encoded soundly for every tokenizer."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tokbench.downstream.boundary import Encode, encode_choices
from tokbench.registry import TokbenchError

Request = tuple[tuple[str, str], list[int], list[int]]


class ScoringLM(HFLM):
    """Log-likelihoods of choices as ``boundary`` defines them.

    Every sequence opens with the start token, whether the context is empty or not, so that all tokenizers and all
    questions are treated alike. Choices of one question with one context are cut at one place; where contexts
    differ from choice to choice (Winograd schemas scored by their endings) each is cut by itself.

    Sequences longer than the model's window: an MPT model has ALiBi and no learned positions, so its
    window is raised to the longest sequence; of other models' contexts the first tokens are dropped, as many
    for every choice of the question, and the start token with them.

    Attributes:
        straddling: by task, choices whose context's own tokens do not open the whole sequence.
        straddling_documents: by task, the questions that have such choices.
        truncated_documents: by task, the questions whose contexts were shortened.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        encode: Encode,
        start: int,
        *,
        window: int,
        batch_size: int,
    ) -> None:
        """Wrap a loaded model.

        Args:
            model: a causal language model, on its device.
            tokenizer: the Hugging Face face, which lm-eval asks for.
            encode: text to ids, without special tokens.
            start: id of the token that opens every sequence.
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
        self.straddling: Counter[str] = Counter()
        self.straddling_documents: dict[str, set[int]] = defaultdict(set)
        self.truncated_documents: dict[str, set[int]] = defaultdict(set)

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = True) -> list[tuple[float, bool]]:
        """(log-likelihood in nats, whether greedy decoding gives it) of each request's choice."""
        questions: dict[tuple[Any, Any, str], list[int]] = defaultdict(list)
        for position, request in enumerate(requests):
            questions[request.task_name, request.doc_id, request.args[0]].append(position)
        encoded: dict[int, Request] = {}
        for (task, document, context), positions in questions.items():
            choices = [requests[position].args[1] for position in positions]
            tokens = encode_choices(self.encode, context, choices)
            if not all(tokens.continuations):
                raise TokbenchError(f"task {task}, question {document}: a choice is empty; remove the question")
            if any(tokens.straddling):
                self.straddling[task] += sum(tokens.straddling)
                self.straddling_documents[task].add(document)
            condition = self._fit([self.start, *tokens.context], tokens.continuations, task, document)
            for position, choice, continuation in zip(positions, choices, tokens.continuations, strict=True):
                encoded[position] = (context, choice), condition, continuation
        ordered = [encoded[position] for position in range(len(requests))]
        return self._loglikelihood_tokens(ordered, disable_tqdm=disable_tqdm)

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
