"""The adapter that shows a tokenizer to ``transformers``, llm-foundry and lm-eval.

Ids are ours; end of text is id V and padding id V + 1, each with an id of its own, because trainers mask the labels
that equal the padding id and end of text would never be learned.
"""

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizer

from tokbench.adapters.tokenizer_json import spellings
from tokbench.byte_level import unspell
from tokbench.errors import TokbenchError
from tokbench.tokenizer import SETTINGS, Tokenizer
from tokbench.tokenizer_config import END_OF_TEXT, PADDING


class TokbenchTokenizer(PreTrainedTokenizer):
    """A tokenizer's folder behind the interface of ``transformers``.

    Args:
        vocab_file: ``tokens.vocab`` in the tokenizer's folder, beside its other files.
    """

    vocab_files_names = {  # noqa: RUF012
        "vocab_file": "tokens.vocab",
        "settings_file": SETTINGS,
        "merges_file": "merges.tsv",
        "scores_file": "scores.txt",
        "continuation_file": "continuation.txt",
        "events_file": "events.tsv",
    }
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    def __init__(
        self,
        vocab_file: str,
        settings_file: str | None = None,
        merges_file: str | None = None,
        scores_file: str | None = None,
        continuation_file: str | None = None,
        events_file: str | None = None,
        **settings: Any,
    ) -> None:
        self.tokenizer = Tokenizer.load(Path(vocab_file).parent)
        self._spellings = spellings(self.tokenizer)
        self._ids = {spelling: index for index, spelling in enumerate(self._spellings)}
        for role, token in (("eos_token", END_OF_TEXT), ("bos_token", END_OF_TEXT), ("pad_token", PADDING)):
            settings.setdefault(role, token)
        settings.setdefault("clean_up_tokenization_spaces", False)
        super().__init__(**settings)

    @classmethod
    def from_folder(cls, folder: Path | str) -> "TokbenchTokenizer":
        """The tokenizer of a folder; nothing but its files is read."""
        return cls(str(Path(folder) / "tokens.vocab"))

    @property
    def vocab_size(self) -> int:
        return len(self.tokenizer)

    def get_vocab(self) -> dict[str, int]:
        return {**self._ids, **self.added_tokens_encoder}

    def _tokenize(self, text: str, **_: Any) -> list[str]:
        return [self._spellings[index] for index in self.tokenizer.encode(text).tolist()]

    def _convert_token_to_id(self, token: str) -> int | None:
        return self._ids.get(token)

    def _convert_id_to_token(self, index: int) -> str:
        if not 0 <= index < len(self._spellings):
            raise TokbenchError(f"id {index} is not in the vocabulary (0 to {len(self) - 1})")
        return self._spellings[index]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text that tokens spell.

        Raises:
            TokbenchError: a string spells no bytes.
        """
        return b"".join(map(self._bytes_of, tokens)).decode("utf-8", "replace")

    def _bytes_of(self, token: str) -> bytes:
        if token in self.added_tokens_encoder:
            return token.encode()
        try:
            return unspell(token)
        except KeyError:
            raise TokbenchError(f"{token[:60]!a} spells no token; give tokens of this tokenizer") from None

    def _decode(  # type: ignore[override]
        self, token_ids: int | list[int], skip_special_tokens: bool = False, **_: Any
    ) -> str:
        ids = list(token_ids) if isinstance(token_ids, list | tuple) else [token_ids]
        if wrong := [one for one in ids if not isinstance(one, int)]:
            raise TokbenchError(f"{wrong[0]!r:.60} is no id; give whole numbers")
        return self.convert_tokens_to_string(self.convert_ids_to_tokens(ids, skip_special_tokens))

    def save_vocabulary(  # type: ignore[override]
        self, save_directory: str, filename_prefix: str | None = None
    ) -> tuple[str, ...]:
        folder = Path(save_directory)
        self.tokenizer.save(folder, configuration=False)
        return tuple(str(path) for name in self.vocab_files_names.values() if (path := folder / name).exists())


AutoTokenizer.register(TokbenchTokenizer, slow_tokenizer_class=TokbenchTokenizer, exist_ok=True)
