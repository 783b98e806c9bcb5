"""Coverings that the tokenizer never writes: what they would add to the probability of a context, on trained models.

    python benchmarks/coverings.py [QUESTIONS [BATCHES]]

With each tokenizer a model of the preset ``tiny`` is trained on Python's documentation and asked for the words that
follow contexts of a hundred bytes in the rest, and so is one with the same number of weights that was never trained.
Pre-tokens are whole documents, so that tokens straddle the ends of words. The table has, over the questions in which
that happens, the nats by which all coverings of the theory make a context likelier than those that are written, or may
be: the mean with its 95 % interval (Student's t), and the largest.
"""

import sys
import tempfile
import warnings
from functools import partial
from itertools import accumulate, takewhile
from pathlib import Path
from random import Random
from statistics import mean, stdev

import tokbench
from tokbench.corpus.documents import Document
from tokbench.corpus.embedded import embedded_texts
from tokbench.pretraining.encoded import encoded
from tokbench.pretraining.options import PRESETS, ModelOptions
from tokbench.pretraining.order import in_order
from tokbench.pretraining.pack import pack
from tokbench.pretraining.train import pretrain
from tokbench.tokenizer import Tokenizer

TOKENIZERS = {
    "merge": {},
    "greedy": {"segmentation": "greedy"},
    "shortest_path": {"segmentation": "shortest_path"},
    "shortest_path, random": {"segmentation": "shortest_path", "segmentation_options": {"ties": "random"}},
    "longest_suffix": {"segmentation": "longest_suffix"},
}
SIZE = 1024
LEARNT = 300_000
CONTEXT = 100


def questions(texts: list[bytes], count: int) -> list[tuple[str, str]]:
    """Contexts that end with a word, and the next word with the space before it."""
    rng = Random(0)
    found: list[tuple[str, str]] = []
    while len(found) < count:
        text = rng.choice(texts)
        place = text.find(b" ", rng.randrange(len(text)) + CONTEXT)
        end = text.find(b" ", place + 1)
        context, word = text[max(0, place - CONTEXT) : place], text[place:end]
        if 0 < place < end and (context + word).isascii() and not context[-1:].isspace() and len(word.split()) == 1:
            found.append((context.decode(), word.decode()))
    return found


def unwritten(model: object, folder: Path, asked: list[tuple[str, str]]) -> list[float]:
    """Of each question in which a token straddles, the nats."""
    from lm_eval.api.instance import Instance

    from tokbench.adapters.transformers import TokbenchTokenizer
    from tokbench.downstream.coverings import Spellings
    from tokbench.downstream.draws import drawn_anew
    from tokbench.downstream.scoring_lm import ScoringLM

    adapter = TokbenchTokenizer.from_folder(folder)
    encode, *draws = (partial(_ids, one) for one in (adapter.tokenizer, *drawn_anew(adapter.tokenizer)))
    lm = ScoringLM(
        model,  # type: ignore[arg-type]
        adapter,
        encode,
        adapter.eos_token_id,
        spellings=Spellings(adapter.tokenizer.vocabulary.tokens),
        window=256,
        batch_size=16,
        settled=adapter.tokenizer.last_cut,
        draws=draws,
    )
    lm.loglikelihood([Instance("loglikelihood", {}, pair, 0, ("words", n, 1)) for n, pair in enumerate(asked)])
    return [one.unwritten for one in lm.boundaries["words"].values() if one.straddling]


def _ids(tokenizer: Tokenizer, text: str | bytes) -> list[int]:
    return tokenizer.encode(text).tolist()


def trained(tokenizer: Tokenizer, training: list[bytes], options: ModelOptions, place: Path) -> Path:
    """The folder of a model."""
    tokenizer.save(place / "tokenizer")
    documents = (Document(number, "", text) for number, text in enumerate(training))
    ordered = in_order(encoded(tokenizer, documents), options.seed, place)
    pack(ordered, len(tokenizer), place / "packed", sequence_length=options.max_seq_len, seed=options.seed)
    pretrain(place / "packed", place / "tokenizer", options, place / "model", place / "checkpoints")
    return place / "model"


def described(nats: list[float]) -> str:
    """The mean, its interval, and the largest."""
    from scipy.stats import t

    half = t.ppf(0.975, len(nats) - 1) * stdev(nats) / len(nats) ** 0.5
    return f"{mean(nats):8.4f} ± {half:6.4f} {max(nats):8.4f}"


def main(count: int = 200, batches: int = 100) -> None:
    """Print the table."""
    import torch

    options = PRESETS["tiny"].model_copy(update={"batches": batches})
    every = list(embedded_texts())
    training = [text for place, text in enumerate(every) if place % 5]
    sizes = accumulate(len(text) for text in training)
    learnt = tokbench.count(training[: sum(1 for _ in takewhile(lambda size: size < LEARNT, sizes))], "none")
    asked = questions([text for text in every[::5] if len(text) > 2 * CONTEXT], count)
    print("tokenizer               straddling   trained: mean            largest   never trained: mean      largest")
    with tempfile.TemporaryDirectory() as folder:
        for name, segmentation in TOKENIZERS.items():
            place = Path(folder, name)
            place.mkdir()
            tokenizer = tokbench.build("bpe", learnt, SIZE, **segmentation)  # type: ignore[arg-type]
            model_folder = trained(tokenizer, training, options, place)
            from transformers.models.mpt.modeling_mpt import MptForCausalLM

            model = MptForCausalLM.from_pretrained(model_folder).eval()
            torch.manual_seed(0)
            drawn = MptForCausalLM(model.config).eval()
            of_trained, of_drawn = (unwritten(one, place / "tokenizer", asked) for one in (model, drawn))
            print(f"{name:24}{len(of_trained):10}   {described(of_trained)}   {described(of_drawn)}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*map(int, sys.argv[1:]))
