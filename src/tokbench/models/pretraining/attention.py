"""Attention of a training: PyTorch's fused kernels under llm-foundry's name "torch".

Fused kernels do not write scores to memory. llm-foundry's "torch" writes every score several times, which takes most of
a training's time on a GPU. Its "flash" needs a package that must be compiled. The fused attention replaces "torch" in
llm-foundry's registry and has the same arguments.
"""

from functools import lru_cache
from typing import Any

import torch
from einops import rearrange
from llmfoundry.layers_registry import attention_implementations
from llmfoundry.models.layers.attention import scaled_multihead_dot_product_attention
from torch.nn.functional import scaled_dot_product_attention

Attended = tuple[torch.Tensor, torch.Tensor | None, Any]


def choose(name: str) -> None:
    """Register ``sdpa`` or llm-foundry's own attention under the name "torch"."""
    function = fused_attention if name == "sdpa" else scaled_multihead_dot_product_attention
    attention_implementations.register("torch", func=function)
    document_mask.cache_clear()


def fused_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    n_heads: int,
    kv_n_heads: int,
    *,
    attn_bias: torch.Tensor | None,
    softmax_scale: float | None = None,
    is_causal: bool = True,
    training: bool = False,
    **unused: Any,
) -> Attended:
    """Return the result of llm-foundry's function of the same arguments, for training with ALiBi or rotary positions.

    llm-foundry passes ALiBi as a bias per key. Here the bias is relative to the query, which does not change the
    softmax. It is then small for large weights and accurate in bfloat16: exact up to a distance of 256 tokens if slopes
    are powers of two. For attention within documents llm-foundry passes a bias per query and key, which is relative
    already and lowest between tokens of two documents.

    Args:
        query: [batch, tokens, width].
        key: [batch, tokens, width x kv_n_heads / n_heads], already rotated for rotary positions.
        value: [batch, tokens, width x kv_n_heads / n_heads].
        n_heads: heads that the width is split into.
        kv_n_heads: heads of keys and values. Each is shared by consecutive heads of the queries.
        attn_bias: [1, heads, 1, at least tokens]; None without ALiBi. For attention within documents
            [batch, heads, tokens, tokens], without ALiBi [batch, 1, tokens, tokens].
        softmax_scale: factor of the scores. Default: 1 over the square root of a head's width.
        is_causal: must be True.
        training: ignored, because there is no dropout.
        unused: must all have their defaults.

    Raises:
        ValueError: an argument has a value that training here never uses.
    """
    del training
    shared = kv_n_heads != n_heads
    if (
        not is_causal
        or (shared and attn_bias is not None and attn_bias.shape[1] > 1)
        or any(unused[name] not in (None, 0.0, False, -1) for name in unused)
    ):
        raise ValueError(f"attention of another kind: {kv_n_heads=}, {is_causal=}, {unused}")
    heads = ((query, n_heads), (key, kv_n_heads), (value, kv_n_heads))
    q, k, v = (rearrange(x, "b s (h d) -> b h s d", h=number) for x, number in heads)
    if attn_bias is None:
        out = scaled_dot_product_attention(q, k, v, is_causal=True, scale=softmax_scale, enable_gqa=shared)
        return rearrange(out, "b h s d -> b s (h d)"), None, None
    tokens = q.shape[2]
    if attn_bias.shape[2] > 1:
        mask = document_mask(attn_bias, tokens, q.dtype)
        # The fused kernel with a mask does not share heads on a GPU.
        k, v = (x.repeat_interleave(n_heads // kv_n_heads, dim=1) if shared else x for x in (k, v))
    else:
        bias = attn_bias[:, :, :, attn_bias.shape[-1] - tokens :].float()
        relative = (bias - bias.transpose(2, 3)).masked_fill(~causal(tokens, q.device), -torch.inf).to(q.dtype)
        mask = relative.expand(q.shape[0], -1, -1, -1)
    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=softmax_scale)
    return rearrange(out, "b h s d -> b s (h d)"), None, None


def causal(tokens: int, device: torch.device) -> torch.Tensor:
    """Return True for each query and each key up to it, bool [tokens, tokens]."""
    return torch.ones(tokens, tokens, dtype=torch.bool, device=device).tril()


@lru_cache(maxsize=1)
def document_mask(attn_bias: torch.Tensor, tokens: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the mask of a bias per query and key, in the given type. All layers of a pass share it.

    Args:
        attn_bias: [batch, heads or 1, at least tokens, at least tokens], see :func:`fused_attention`.
        tokens: tokens of a sequence.
        dtype: type of the queries.

    Returns:
        The bias of each query and key [batch, heads or 1, tokens, tokens]; minus infinity for later keys.
    """
    bias = attn_bias[..., attn_bias.shape[-2] - tokens :, attn_bias.shape[-1] - tokens :]
    return bias.masked_fill(~causal(tokens, bias.device), -torch.inf).to(dtype)
