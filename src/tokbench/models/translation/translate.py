"""Translation of a split by beam search."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from tokbench.corpus.parallel_read import read_sentences
from tokbench.io.atomic import atomic_file
from tokbench.io.identity import metadata_of
from tokbench.io.job_record import job_metadata
from tokbench.models.translation.embeddings import makers_of, tokenizers_of
from tokbench.models.translation.model import decode_sentence, encode_sentences, fixed_threads, load, pad, pick_device
from tokbench.models.translation.options import END, PADDING, SPECIAL, TranslationOptions

log = logging.getLogger(__name__)


def translate(model: Path, test: Path, direction: tuple[str, str], options: TranslationOptions, output: Path) -> int:
    """Translate a split and write pair number, source, reference and translation of each sentence as Parquet.

    Args:
        model: folder written by training.
        test: a split of a prepared parallel corpus.
        direction: source language and target language.
        options: options of the search, and the device.
        output: the file.

    Returns:
        The number of sentences.

    Raises:
        TokbenchError: the folder does not contain a translation model, or the split lacks one of the languages.
    """
    sentences = read_sentences(test, *direction)
    hypotheses = translations(model, sentences.source, options)
    table = pa.table(
        {
            "pair": pa.array(sentences.pairs, pa.int64()),
            "source": pa.array(sentences.source, pa.large_string()),
            "reference": pa.array(sentences.target, pa.large_string()),
            "translation": pa.array(hypotheses, pa.large_string()),
        },
        metadata=metadata_of(**makers_of(model)),
    )
    with (
        atomic_file(output) as partial,
        pq.ParquetWriter(partial, table.schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        writer.add_key_value_metadata(job_metadata())
        writer.write_table(table)
    return len(hypotheses)


def translations(folder: Path, sentences: Sequence[str], options: TranslationOptions) -> list[str]:
    """Return the best hypothesis of each sentence, in input order. Sentences of similar length are searched
    together."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    source, target = tokenizers_of(folder).values()
    model = load(folder)
    device = pick_device(options.device)
    model.to(device).eval()  # type: ignore[arg-type]
    rows = int(model.config.decoder_vocab_size)
    known = range(target.id_limit) if target.named.ids is None else target.named.ids.tolist()
    never = sorted({PADDING, *range(SPECIAL, rows)} - {place + SPECIAL for place in known})
    ids = encode_sentences(source, sentences, int(model.config.max_position_embeddings))
    order = sorted(range(len(ids)), key=lambda place: (-len(ids[place]), place))
    texts = [""] * len(ids)
    with fixed_threads(options.cpu_threads), torch.no_grad():
        for begin in range(0, len(order), options.translate_batch):
            places = order[begin : begin + options.translate_batch]
            batch = torch.from_numpy(pad([ids[place] for place in places])).to(device)
            hypotheses: Any = model.generate(
                input_ids=batch,
                attention_mask=(batch != PADDING).long(),
                num_beams=options.beam,
                length_penalty=options.length_penalty,
                max_length=options.max_tokens + 1,
                do_sample=False,
                suppress_tokens=never,
                forced_eos_token_id=END,
            )
            for place, hypothesis in zip(places, hypotheses.tolist(), strict=True):
                texts[place] = decode_sentence(target, hypothesis[1:])
            log.info("%d of %d sentences translated", begin + len(places), len(order))
    return texts
