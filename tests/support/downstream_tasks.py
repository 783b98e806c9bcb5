"""Downstream tasks from random prose, a toy tokenizer and untrained models."""

import json
from pathlib import Path
from random import Random
from types import ModuleType

from tokbench.downstream.passages import read_paragraphs
from tokbench.downstream.tasks import TaskOptions
from tokbench.vocabulary import Vocabulary

WORDS = [
    "time",
    "hand",
    "world",
    "house",
    "river",
    "night",
    "garden",
    "letter",
    "window",
    "stone",
    "morning",
    "voice",
    "road",
    "winter",
    "friend",
    "table",
]


OFFLINE = ("continuation", "last_word", "unperturbed", "word_order")
SMALL = TaskOptions(questions=40, fewshot_pool=8)


def prose(seed: int, paragraphs: int = 60) -> bytes:
    """Sentences of drawn words, capitalised and closed, eight to a paragraph."""
    rng = Random(seed)
    written = []
    for _ in range(paragraphs):
        lines = [" ".join(rng.choices(WORDS, k=rng.randint(9, 14))).capitalize() + "." for _ in range(8)]
        written.append("\n".join(lines))
    return "\n\n".join(written).encode()


DOCUMENTS = [(3, prose(3)), (7, b"\xff\xfe not text\n" + prose(7)), (9, b"")]


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def spaced(documents: list[tuple[int, bytes]]) -> str:
    return "\n\n".join(" ".join(p.words) for p in read_paragraphs(documents, 10**9)[0])


def stub(score):
    """An lm-eval model that scores (context, choice) with a function."""
    from lm_eval.api.model import LM

    class Stub(LM):
        def loglikelihood(self, requests, disable_tqdm=False):
            return [(score(*request.args), False) for request in requests]

        def loglikelihood_rolling(self, requests, disable_tqdm=False):
            raise AssertionError

        def generate_until(self, requests, disable_tqdm=False):
            raise AssertionError

    return Stub()


def toy_adapter():
    """A byte-level Hugging Face tokenizer with tokens that straddle spaces."""
    import numpy as np
    from transformers import PreTrainedTokenizer

    tokens = [bytes([value]) for value in range(256)] + [b"e h", b"d w", b"er", b" w", b"in", b"t r"]
    ids = {token: number for number, token in enumerate(tokens)}

    class Tokenizer:
        vocabulary = named = Vocabulary(tuple(tokens))
        library_name, ids_given, lossless, end_of_text = "", False, True, len(tokens)

        def encode(self, text: str | bytes):
            data = text.encode() if isinstance(text, str) else text
            found = []
            while data:
                length = next(length for length in (3, 2, 1) if data[:length] in ids)
                found.append(ids[data[:length]])
                data = data[length:]
            return np.array(found, np.int32)

        def last_cut(self, text: bytes) -> int:
            return 0

    class Adapter(PreTrainedTokenizer):
        tokenizer = Tokenizer()

        def __init__(self) -> None:
            super().__init__(eos_token="<|endoftext|>", pad_token="<|padding|>")

        @property
        def vocab_size(self) -> int:
            return len(tokens)

        def get_vocab(self) -> dict[str, int]:
            return {token.hex(): number for token, number in ids.items()}

        def _tokenize(self, text: str, **_) -> list[str]:
            return [tokens[number].hex() for number in self.tokenizer.encode(text).tolist()]

        def _convert_token_to_id(self, token: str) -> int | None:
            return ids.get(bytes.fromhex(token)) if not token.startswith("<") else None

        def _convert_id_to_token(self, index: int) -> str:
            return tokens[index].hex()

    return Adapter()


def tiny_mpt(torch: ModuleType, max_seq_len: int = 512):
    from transformers import MptConfig, MptForCausalLM

    torch.manual_seed(0)
    config = MptConfig(
        d_model=32, n_heads=2, n_layers=1, max_seq_len=max_seq_len, vocab_size=320, expansion_ratio=4, use_cache=False
    )
    return MptForCausalLM(config).eval()


def requests_of(questions: list[tuple[str, list[str]]]):
    from lm_eval.api.instance import Instance

    return [
        Instance("loglikelihood", {}, (context, choice), index, ("toy", number, 1))
        for number, (context, choices) in enumerate(questions)
        for index, choice in enumerate(choices)
    ]
