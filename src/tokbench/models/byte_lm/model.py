"""Model architecture: a Llama over the 256 bytes and a start-of-document token."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaForCausalLM

from tokbench.errors import TokbenchError
from tokbench.io.atomic import reject_altered
from tokbench.models.byte_lm.options import ByteLmOptions

START = 256
"""Token at the start of every document. Tokens 0 to 255 are the bytes."""


def build(options: ByteLmOptions) -> LlamaForCausalLM:
    """Build a model with new weights, drawn from ``options.seed``. The global random generator is not changed."""
    config = LlamaConfig(
        vocab_size=START + 1,
        hidden_size=options.hidden,
        intermediate_size=options.feed_forward,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        max_position_embeddings=options.context,
        tie_word_embeddings=options.tied_embeddings,
        bos_token_id=START,
        eos_token_id=None,
        pad_token_id=None,
        use_cache=False,
        attn_implementation="sdpa",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        return LlamaForCausalLM(config)


def load(folder: Path) -> LlamaForCausalLM:
    """Load a trained model from safetensors.

    Raises:
        TokbenchError: the folder does not contain a byte-level model, or its weights were changed after writing.
    """
    reject_altered(folder / "model.safetensors", "delete its folder and train it again")
    try:
        model = LlamaForCausalLM.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, attn_implementation="sdpa"
        )
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise TokbenchError(
            f"{folder}: not a byte-level model ({reason}); make one with 'tokbench train_byte_lm'"
        ) from error
    if model.config.vocab_size != START + 1:
        raise TokbenchError(
            f"{folder}: a vocabulary of {model.config.vocab_size} is not the 256 bytes and the start token; "
            "use a model made with 'tokbench train_byte_lm'"
        )
    return model


def pick_device(name: str) -> torch.device:
    """Return the device for ``name`` on this machine.

    Args:
        name: ``cpu``, ``cuda``, or ``auto`` for a GPU if there is one.

    Raises:
        TokbenchError: ``name`` is ``cuda`` and there is no GPU.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise TokbenchError("device: 'cuda' is not available here; use 'auto' or 'cpu'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def on_gpu(name: str) -> bool:
    """Return True if ``name`` selects a GPU on this machine."""
    return pick_device(name).type == "cuda"


@contextmanager
def arithmetic(options: ByteLmOptions, device: torch.device) -> Iterator[None]:
    """Set the precision and the number of CPU threads within the block; the number of threads is restored
    afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(options.cpu_threads)
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=options.precision == "bf16"):
            yield
    finally:
        torch.set_num_threads(threads)
