"""What tokenizers lose by their one segmentation: the estimate on small trained models, with few draws and with more.

    python benchmarks/one_segmentation.py [DRAWS ...]

Models and texts are those of ``common_random_numbers.py`` at seed 1.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import common_random_numbers as common

import tokbench
from tokbench.downstream.coverings import Spellings
from tokbench.pretraining.train import pretrain


def main(*draws: int) -> None:
    """Print a line for every tokenizer and number of draws."""
    training, testing = common.texts()
    with tempfile.TemporaryDirectory() as folder:
        for name, (method, size) in common.TOKENIZERS.items():
            tokenizer = tokbench.build(method, tokbench.count(training), size)
            place = Path(folder, name)
            common.packed(tokenizer, training, 1, place)
            options = common.MODEL.model_copy(update={"seed": 1})
            pretrain(place / "packed", place / "tokenizer", options, place / "model", place / "checkpoints")
            from transformers.models.mpt.modeling_mpt import MptForCausalLM

            from tokbench.downstream.segmentations import next_after, one_segmentation

            def encode(text: bytes, tokenizer: tokbench.Tokenizer = tokenizer) -> list[int]:
                return tokenizer.encode(text).tolist()

            after = next_after(MptForCausalLM.from_pretrained(place / "model").eval(), len(tokenizer), "cpu")
            for number in draws or (16, 64):
                found = one_segmentation(Spellings(tokenizer.vocabulary.tokens), encode, testing, after, number)
                print(name, found, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*map(int, sys.argv[1:]))
