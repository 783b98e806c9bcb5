"""The model: transformers' Marian, a transformer as fairseq's with sinusoidal positions and norms after each part."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers.models.marian.configuration_marian import MarianConfig
from transformers.models.marian.modeling_marian import MarianMTModel

from tokbench.atomic import reject_altered
from tokbench.errors import TokbenchError
from tokbench.inputs.files import first_line
from tokbench.translation.options import TranslationOptions
from tokbench.translation.special import END, PADDING, SPECIAL


def build(options: TranslationOptions, source: int, target: int, *, joint: bool) -> MarianMTModel:
    """A model with weights drawn from the seed.

    Marian's two embeddings have equally many rows: those of the larger vocabulary. A joint vocabulary has one
    embedding on both sides and in the output layer; separate ones share the decoder's with the output layer.

    Args:
        options: its sizes.
        source, target: ids of the tokenizers.
        joint: whether both are one tokenizer.
    """
    rows = max(source, target) + SPECIAL
    config = MarianConfig(
        vocab_size=rows,
        decoder_vocab_size=rows,
        share_encoder_decoder_embeddings=joint,
        d_model=options.d_model,
        encoder_layers=options.encoder_layers,
        decoder_layers=options.decoder_layers,
        encoder_attention_heads=options.heads,
        decoder_attention_heads=options.heads,
        encoder_ffn_dim=options.feed_forward,
        decoder_ffn_dim=options.feed_forward,
        dropout=options.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        max_position_embeddings=options.max_positions,
        init_std=options.d_model**-0.5,
        scale_embedding=True,
        pad_token_id=PADDING,
        eos_token_id=END,
        decoder_start_token_id=PADDING,
        forced_eos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        model = MarianMTModel(config)
        for module in model.modules():
            if isinstance(module, torch.nn.Linear) and module is not model.lm_head:
                torch.nn.init.xavier_uniform_(module.weight)
    return model


def load(folder: Path) -> MarianMTModel:
    """Read a trained model, from safetensors only.

    Raises:
        TokbenchError: the folder holds none, or its weights are not those that were written.
    """
    reject_altered(folder / "model.safetensors", "delete its folder and train it again")
    try:
        return MarianMTModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    except (OSError, ValueError) as error:
        raise TokbenchError(
            f"{folder}: no translation model ({first_line(error)}); make one with 'tokbench train_translation'"
        ) from error


def pick_device(wanted: str) -> torch.device:
    """The device to compute on.

    Raises:
        TokbenchError: a GPU is wanted and there is none.
    """
    if wanted == "cuda" and not torch.cuda.is_available():
        raise TokbenchError("device: 'cuda' is not available here; use 'auto' or 'cpu'")
    return torch.device("cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu")


@contextmanager
def fixed_threads(threads: int) -> Iterator[None]:
    """Within the block a CPU's matrix products use so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
