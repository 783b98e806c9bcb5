"""Adapters of a tokenizer for ``transformers``, llm-foundry and lm-eval.

Ids are ours. End of text is id V and padding id V + 1. They differ because trainers mask labels that equal the padding
id, so that a shared end of text would never be learned. An external tokenizer has its own ids: V is one more than the
largest, and its special tokens are added tokens, one of which may be the end of text.

Calls return the same as those of ``PreTrainedTokenizerFast``, including offsets, windows and words. The class is not a
fast tokenizer, as those are models of ``tokenizers``, which lack most segmentations; so ``is_fast`` is False. A
tokenizer that runs through another library has only the parts of the interface that lm-eval needs in addition to ids.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AddedToken, AutoTokenizer, BatchEncoding, PreTrainedTokenizer
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy

from tokbench.adapters.encoding import (
    EncodedRow,
    EncodedSource,
    Padding,
    Truncation,
    is_batch,
    rows_of,
    samples_of,
    texts_of,
)
from tokbench.adapters.names import names_by_id, special_ids, special_names, unused_name
from tokbench.errors import TokbenchError
from tokbench.tokenizer import SETTINGS, Tokenizer
from tokbench.tokenizer.adapted import read_adapted
from tokbench.tokenizer.added_tokens import AddedTokens
from tokbench.tokenizer.folder import is_adapted
from tokbench.tokenizer.hugging_face import PADDING, unspell

BATCHES_APART = hasattr(PreTrainedTokenizer, "batch_encode_plus")
"""Whether ``transformers`` has a separate method for batches, as version 4 does."""
ATTRIBUTES = {
    "input_ids": "ids",
    "token_type_ids": "type_ids",
    "attention_mask": "attention_mask",
    "special_tokens_mask": "special_tokens_mask",
    "offset_mapping": "offsets",
}
"""Keys of a batch with the attributes of its rows, in the order of the batch."""


class TokbenchTokenizer(PreTrainedTokenizer):
    """A tokenizer's folder with the interface of ``transformers``.

    Args:
        vocab_file: ``tokens.vocab`` in the tokenizer's folder, with its other files next to it.

    Raises:
        TokbenchError: the folder has none, as its tokenizer runs through another library.
    """

    vocab_files_names = {  # noqa: RUF012
        "vocab_file": "tokens.vocab",
        "settings_file": SETTINGS,
        "merges_file": "merges.tsv",
        "scores_file": "scores.txt",
        "continuation_file": "continuation.txt",
        "events_file": "events.tsv",
        "ids_file": "ids.txt",
        "special_ids_file": "special_ids.tsv",
        "unused_ids_file": "unused_ids.tsv",
        "substring_counts_file": "substring_counts.tsv",
        "tuples_file": "tuples.tsv",
        "supermerges_file": "supermerges.tsv",
    }
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    def __init__(self, vocab_file: str | None = None, **settings: Any) -> None:
        beside = [settings.pop(name, None) for name in self.vocab_files_names]  # All are in one folder.
        if vocab_file is None or is_adapted(Path(vocab_file).parent):
            raise _without_vocabulary(vocab_file or next(filter(None, beside), ""))
        self.tokenizer = Tokenizer.load(Path(vocab_file).parent)
        self._names = names_by_id(self.tokenizer)
        self._ids = {name: index for index, name in enumerate(self._names)}
        if isinstance(settings.get("extra_special_tokens"), list | tuple):  # Their name in version 5.
            settings["additional_special_tokens"] = settings.pop("extra_special_tokens")
        if self.tokenizer.vocabulary.ids is not None:
            self._add_own(settings)
        end = self.tokenizer.end_token
        for role, token in (("eos_token", end), ("bos_token", end), ("pad_token", PADDING)):
            settings.setdefault(role, token)
        settings.setdefault("clean_up_tokenization_spaces", False)
        self._opened = False
        super().__init__(**settings)
        self._opened = True

    def _add_own(self, settings: dict[str, Any]) -> None:
        """Add the special tokens of an external tokenizer to the added tokens, with their ids."""
        own = special_names(self.tokenizer)
        ids = special_ids(self.tokenizer)
        self._names += map(unused_name, range(self.vocab_size, max(ids.values()) + 1))
        taken = set(ids.values())
        self._ids = {name: index for index, name in enumerate(self._names) if index not in taken}
        added = {number: AddedToken(name, special=True, normalized=False) for name, number in ids.items()}
        settings["added_tokens_decoder"] = added | settings.get("added_tokens_decoder", {})
        named = self.tokenizer.end_and_padding
        settings.setdefault("additional_special_tokens", [name for name in own if name not in named])

    @classmethod
    def from_folder(cls, folder: Path | str) -> "TokbenchTokenizer":
        """Return the tokenizer of a folder; only the tokenizer's files are read."""
        return cls(str(Path(folder) / "tokens.vocab"))

    # The vocabulary

    @property
    def vocab_size(self) -> int:
        return self.tokenizer.id_limit

    def get_vocab(self) -> dict[str, int]:
        return {**self._ids, **self.added_tokens_encoder}

    def _convert_token_to_id(self, token: str) -> int | None:
        return self._ids.get(token)

    def _convert_id_to_token(self, index: int) -> str:
        if not 0 <= index < len(self._names):
            raise TokbenchError(f"id {index} is not in the vocabulary (0 to {len(self) - 1})")
        return self._names[index]

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        """Add tokens to search for in texts.

        A saved special token such as the padding may have the spelling of a token. It already has an id, and is not
        added when the folder is opened.

        Raises:
            TokbenchError: a caller adds a text that is the spelling of other bytes.
        """
        others = [text for text in map(str, new_tokens or ()) if self._spells_other_bytes(text)]
        if others and self._opened:
            raise TokbenchError(
                f"{others[0][:60]!r} cannot be added: it is the spelling of the token {unspell(others[0]).hex()}, "
                "which has other bytes; choose another text"
            )
        added = [token for token in new_tokens or () if str(token) not in others]
        return int(super()._add_tokens(added, special_tokens=special_tokens))

    def _spells_other_bytes(self, text: str) -> bool:
        return text in self._ids and text != unused_name(self._ids[text]) and unspell(text) != text.encode()

    # From text to ids

    def tokenize(self, text: str, pair: str | None = None, add_special_tokens: bool = False, **more: Any) -> list[str]:
        """Return the printable spellings of a text's tokens."""
        batch = self([text], [pair] if pair else None, add_special_tokens=add_special_tokens, **more)
        tokens: list[str] = batch.tokens()
        return tokens

    def _encode_plus(  # type: ignore[override]
        self,
        text: Any,
        text_pair: Any = None,
        is_split_into_words: bool = False,
        return_tensors: Any = None,
        return_overflowing_tokens: bool = False,
        **settings: Any,
    ) -> BatchEncoding:
        """Encode a text or a pair; if ``transformers`` has no separate method for batches, also a batch of them."""
        settings |= {"is_split_into_words": is_split_into_words, "return_tensors": return_tensors}
        settings["return_overflowing_tokens"] = return_overflowing_tokens
        if not BATCHES_APART and is_batch(text, is_split_into_words):
            return self._batch_encode_plus(samples_of(text, text_pair), **settings)
        batch = self._batch_encode_plus([(text, text_pair)] if text_pair else [text], **settings)
        if return_tensors is not None or return_overflowing_tokens:
            return batch
        row = {key: rows[0] if rows and isinstance(rows[0], list) else rows for key, rows in batch.items()}
        return BatchEncoding(row, batch.encodings)

    def _batch_encode_plus(
        self,
        batch_text_or_text_pairs: Sequence[Any],
        add_special_tokens: bool = True,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        split_special_tokens: bool | None = None,
        **others: Any,
    ) -> BatchEncoding:
        if unknown := [name for name, value in others.items() if value]:
            raise TokbenchError(f"{unknown[0]}: a tokenizer of Tokbench has no such option; leave it out")
        # Options of this call.
        special = not (self.split_special_tokens if split_special_tokens is None else split_special_tokens)
        added = AddedTokens.of(self.added_tokens_decoder)
        truncation = None
        if truncation_strategy != TruncationStrategy.DO_NOT_TRUNCATE:
            left = self.truncation_side == "left"
            truncation = Truncation(truncation_strategy.value, max_length or 0, stride, left)
        # Each sample has one row, or several if overflowing tokens are returned.
        rows: list[EncodedRow] = []
        samples: list[int] = []
        for number, sample in enumerate(batch_text_or_text_pairs):
            sources = [
                EncodedSource(self.tokenizer, added, texts, is_split_into_words, special)
                for texts in texts_of(sample, is_split_into_words)
            ]
            encoded_rows = rows_of(sources, self.convert_ids_to_tokens, truncation)
            rows += encoded_rows if return_overflowing_tokens else [next(encoded_rows)]
            samples += [number] * (len(rows) - len(samples))
        if padding_strategy != PaddingStrategy.DO_NOT_PAD:
            length = max_length if padding_strategy == PaddingStrategy.MAX_LENGTH else max(map(len, rows), default=0)
            multiple = pad_to_multiple_of or 1
            side = padding_side or self.padding_side
            padding = Padding(left=side == "left", id=self.pad_token_id, type_id=self.pad_token_type_id)
            rows = [row.padded(-(-(length or 0) // multiple) * multiple, padding) for row in rows]
        # The columns that are asked for, or that the model reads.
        asked = {
            "input_ids": True,
            "token_type_ids": return_token_type_ids,
            "attention_mask": return_attention_mask,
            "special_tokens_mask": return_special_tokens_mask,
            "offset_mapping": return_offsets_mapping,
        }
        batch: dict[str, list[Any]] = {
            key: [getattr(row, attribute) for row in rows]
            for key, attribute in ATTRIBUTES.items()
            if (key in self.model_input_names if asked[key] is None else asked[key])
        }
        if return_length:
            batch["length"] = [len(row) for row in rows]
        if return_overflowing_tokens:
            batch["overflow_to_sample_mapping"] = samples
        for ids in batch["input_ids"]:
            self._eventual_warn_about_too_long_sequence(ids, max_length, verbose)
        return BatchEncoding(batch, rows, tensor_type=return_tensors)

    # From ids to text

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Return the text that tokens spell.

        Raises:
            TokbenchError: a string spells no bytes.
        """
        added = self.added_tokens_encoder
        return b"".join(
            token.encode() if token in added and token not in self._ids else _bytes_of(token) for token in tokens
        ).decode("utf-8", "replace")

    def _decode(  # type: ignore[override]
        self,
        token_ids: int | list[int],
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **_: Any,
    ) -> str:
        ids = list(token_ids) if isinstance(token_ids, list | tuple) else [token_ids]
        if wrong := [token_id for token_id in ids if not isinstance(token_id, int | np.integer)]:
            raise TokbenchError(f"{wrong[0]!r:.60} is not an id; pass integers")
        text = b"".join(self._pieces(map(int, ids), skip_special_tokens)).decode("utf-8", "replace")
        cleaned = (
            self.clean_up_tokenization_spaces if clean_up_tokenization_spaces is None else clean_up_tokenization_spaces
        )
        return self.clean_up_tokenization(text) if cleaned else text

    def _pieces(self, ids: Iterable[int], skip_special_tokens: bool) -> Iterator[bytes]:
        """Yield the bytes of ids; an added token is its content, an id above all tokens is skipped."""
        left_out = set(self.all_special_ids) if skip_special_tokens else set()
        added = self.added_tokens_decoder
        known = (
            token_id
            for token_id in ids
            if token_id not in left_out and (token_id < len(self._names) or token_id in added)
        )
        own = self.vocab_size
        for ours, group in groupby(known, key=lambda token_id: 0 <= token_id < own):
            if ours:
                yield self.tokenizer.decode(list(group))
            else:
                yield "".join(self.convert_ids_to_tokens(list(group))).encode()

    def save_vocabulary(  # type: ignore[override]
        self, save_directory: str, filename_prefix: str | None = None
    ) -> tuple[str, ...]:
        folder = Path(save_directory)
        self.tokenizer.save(folder, configuration=False)
        return tuple(str(path) for name in self.vocab_files_names.values() if (path := folder / name).exists())


def _bytes_of(token: Any) -> bytes:
    try:
        return unspell(token)
    except (UnicodeEncodeError, AttributeError):
        shown = token[:60] if isinstance(token, str) else token
        raise TokbenchError(f"{shown!a:.80} spells no token; pass tokens of this tokenizer") from None


def _without_vocabulary(file: str) -> TokbenchError:
    """Return the error for a folder without ``tokens.vocab``, from one of its files."""
    folder = Path(file).parent
    if not file or not is_adapted(folder):
        return TokbenchError(f"{folder}: no tokens.vocab; save or import the tokenizer again")
    library = read_adapted(folder)[0].library
    return TokbenchError(
        f"{folder}: the tokenizer works through {library}, which AutoTokenizer does not call; open it with "
        f"tokbench.Tokenizer.load, or the file that it came from with the class that transformers has for it"
    )


AutoTokenizer.register(TokbenchTokenizer, slow_tokenizer_class=TokbenchTokenizer, exist_ok=True)


class AdaptedTransformers(PreTrainedTokenizer):
    """Ids and special tokens of a tokenizer that runs through another library; texts are encoded by that library.

    Args:
        tokenizer: the tokenizer.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        end = tokenizer.end_token
        added = {
            number: AddedToken(name, special=True, normalized=False)
            for name, number in tokenizer.end_and_padding.items()
        }
        super().__init__(eos_token=end, bos_token=end, pad_token=PADDING, added_tokens_decoder=added)

    @property
    def vocab_size(self) -> int:
        return self.tokenizer.id_limit

    def get_vocab(self) -> dict[str, int]:
        return {unused_name(token_id): token_id for token_id in range(self.vocab_size)} | self.added_tokens_encoder


def adapter_of(folder: Path | str) -> TokbenchTokenizer | AdaptedTransformers:
    """Return the tokenizer in a folder as lm-eval needs it; its ``tokenizer`` is ours."""
    if is_adapted(Path(folder)):
        return AdaptedTransformers(Tokenizer.load(folder))
    return TokbenchTokenizer.from_folder(folder)
