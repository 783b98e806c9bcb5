"""Models small enough to train in tests, an interrupted training by two processes, and packed sequences of bytes."""

import os
import shutil
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.commands.main import main
from tokbench.corpus.documents import Document
from tokbench.io.identity import Maker
from tokbench.models.pretraining import launch
from tokbench.models.pretraining.budget import TextBudget
from tokbench.models.pretraining.mds import ShardLayout, by_shard, read_mds
from tokbench.models.pretraining.options import PRESETS, LlamaOptions
from tokbench.models.pretraining.order import EncodedDocument, Slices, encode_documents, sort_documents
from tokbench.models.pretraining.pack import SliceForm, pack
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

SMALL = PRESETS["tiny"].model_copy(
    update={
        "d_model": 16,
        "n_heads": 2,
        "n_layers": 1,
        "max_seq_len": 32,
        "batch": 4,
        "microbatch": 2,
        "batches": 8,
        "checkpoint_every": 3,
    }
)

SHAPE = LlamaOptions.model_validate(
    PRESETS["greedtok_1b"].model_dump()
    | {
        "d_model": 24,
        "n_layers": 2,
        "n_heads": 6,
        "kv_heads": 2,
        "feed_forward": 64,
        "max_seq_len": 32,
        "learning_rate": 0.02,
        "amplitude": 0.3,
        "warmup_batches": 2,
        "batch": 4,
        "microbatch": 2,
        "batches": 12,
        "precision": "fp32",
        "checkpoint_every": 4,
        "device": "cpu",
    }
)
"""Small version of GreedTok's model: equal query heads per key-value head, a gated layer 2.67 times as wide, and its
schedule with ten batches and two."""


def train_watched() -> None:
    """Run a command of Tokbench with the processes of :func:`watch`."""
    launch.PROGRAM = ("-m", __name__)
    main(sys.argv[1:])


def watch() -> None:
    """Have the last rank kill itself after batch ``KILLED_AT``, and rank 0 copy its checkpoints after batch 7."""
    warnings.simplefilter("ignore")
    from composer.utils import dist

    from tokbench.models.pretraining.curve import Curve

    class Watched(Curve):
        def batch_end(self, state: Any, logger: Any) -> None:
            super().batch_end(state, logger)
            batch, rank = str(int(state.timestamp.batch)), dist.get_global_rank()
            if (batch, rank) == (os.environ["KILLED_AT"], dist.get_world_size() - 1):
                os.kill(os.getpid(), signal.SIGKILL)
            if (batch, rank) == ("7", 0):
                place = Path(os.environ["COPIED_TO"])
                shutil.copytree(place.parent / "checkpoints", place, symlinks=True)

    from tokbench.models.pretraining import foundry

    foundry.registry.callbacks.register("tokbench_curve", func=Watched)


if __name__ == "__main__":
    watch()
    main(sys.argv[1:])


DOCUMENTS = [b"the cat sat on the mat. " * 20, b"", b"\xff\x00 and then the dog sat " * 12]


class Bytes:
    """A tokenizer whose tokens are single bytes."""

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        return [np.frombuffer(text, np.uint8).astype(np.int32) for text in texts]

    def last_cut(self, text: bytes) -> int:
        return len(text)

    def __len__(self) -> int:
        return 256


SINGLE_BYTES = Tokenizer(Vocabulary(BYTES), "none", "greedy", name="bytes")
"""The same tokenizer, of Tokbench."""
MAKER = Maker(SINGLE_BYTES.digest, "bytes")


def saved_tokenizer(folder: Path) -> Path:
    """Save the tokenizer of packed documents into a folder."""
    SINGLE_BYTES.save(folder)
    return folder


class Pairs(Bytes):
    """A tokenizer whose tokens are pairs of bytes, plus a last single byte."""

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        return [np.array([text[place] for place in range(0, len(text), 2)], np.int32) for text in texts]


def pieces(documents: Iterable[bytes]) -> Iterator[EncodedDocument]:
    return encode_documents(Bytes(), (Document(number, "", text) for number, text in enumerate(documents)))


def one_job(
    length: int,
    seed: int,
    *,
    vocabulary: int = 256,
    end: int | None = None,
    tokenizer: Maker = MAKER,
    second_phase: float | None = None,
    budget: TextBudget | None = None,
) -> SliceForm:
    """Return the options of a text that one job packs; the end of text is the id after the vocabulary by default."""
    slices = Slices.one_per_phase(seed, second_phase)
    return SliceForm(slices, length, vocabulary, vocabulary if end is None else end, tokenizer, budget)


def packed_documents(
    folder: Path, documents: Iterable[bytes] = DOCUMENTS, budget: TextBudget | None = None, seed: int = 17
) -> Path:
    """Write the documents as sequences of 32 tokens to a folder."""
    folder.parent.mkdir(exist_ok=True)
    text = sort_documents(pieces(documents), seed, folder.parent)
    pack(text, one_job(32, seed, budget=budget), folder)
    return folder


def write_mds(folder: Path, blocks: Iterable[NDArray[np.int32]], sequence_length: int) -> int:
    """Write sequences into an empty folder, as shards and their ``index.json``; return their number."""
    shards = ShardLayout(sequence_length)
    total = 0
    for number, ids in by_shard(blocks, shards.ids):
        shards.write(folder, number, ids)
        total += len(ids)
    shards.write_index(folder, total // sequence_length)
    return total // sequence_length


def ids_of(folder: Path) -> list[int]:
    """Return the ids of the sequences, without padding."""
    return [token for block in read_mds(folder) for token in block.tolist() if token != 257]


def shown(folder: Path, start: int = 0, **length: int) -> list[tuple[list[int], list[int]]]:
    from tokbench.models.pretraining.sequences import PackedSequences

    sequences = PackedSequences(folder, **length)
    sequences.load_state_dict(sequences.state_dict(length["batch"] * start, True))
    return [(ids.tolist(), labels.tolist()) for ids, labels in sequences]
