"""What lm-eval asks of a tokenizer beside ids, for one that works through another library than ``transformers``."""

from pathlib import Path

from transformers import AddedToken, PreTrainedTokenizer

from tokbench.adapters.names import unused_name
from tokbench.adapters.transformers import TokbenchTokenizer
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer_config import PADDING
from tokbench.tokenizer_folder import is_adapted


class AdaptedTransformers(PreTrainedTokenizer):
    """Numbers and special tokens of a tokenizer; texts are left to the library that it works through.

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
        return {unused_name(one): one for one in range(self.vocab_size)} | self.added_tokens_encoder


def adapter_of(folder: Path | str) -> TokbenchTokenizer | AdaptedTransformers:
    """The tokenizer in a folder as lm-eval takes it; its ``tokenizer`` is ours."""
    if is_adapted(Path(folder)):
        return AdaptedTransformers(Tokenizer.load(folder))
    return TokbenchTokenizer.from_folder(folder)
