"""Attention by PyTorch's own fused kernels, which write no scores to memory.

llm-foundry's "torch" writes every score several times, and on a GPU that is most of a training; its "flash" needs a
package that must be compiled. This one is called in the place of "torch", with the same arguments.
"""

from typing import Any

import torch
from einops import rearrange
from llmfoundry.layers_registry import attention_implementations
from llmfoundry.models.layers.attention import scaled_multihead_dot_product_attention
from torch.nn.functional import scaled_dot_product_attention

Attended = tuple[torch.Tensor, torch.Tensor | None, Any]


def choose(name: str) -> None:
    """Have models use ``sdpa``, or llm-foundry's own, where their configuration says "torch"."""
    function = fused_attention if name == "sdpa" else scaled_multihead_dot_product_attention
    attention_implementations.register("torch", func=function)


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
    """What llm-foundry's function of these arguments returns, for training with ALiBi or rotary positions.

    ALiBi is told by llm-foundry as a bias of each key. Taken relative to the query, which no softmax sees, it is small
    where the weights are large, and bfloat16 holds it: exactly up to 256 tokens away for slopes that are powers of two.

    Args:
        query: [batch, tokens, width].
        key: [batch, tokens, width x kv_n_heads / n_heads], rotated already where positions are rotary.
        value: likewise.
        n_heads: heads that the width is cut into.
        kv_n_heads: heads of keys and values, each shared by as many of the queries' that follow each other.
        attn_bias: [1, heads, 1, at least tokens]; none without ALiBi.
        softmax_scale: factor of the scores; 1 over the square root of a head's width if left out.
        is_causal: must be true.
        training: plays no part, for there is no dropout.
        unused: must all be what they are where nobody asks for them.

    Raises:
        NotImplementedError: something is asked for that training here never does.
    """
    del training
    shared = kv_n_heads != n_heads
    if (
        not is_causal
        or (shared and attn_bias is not None)
        or any(unused[name] not in (None, 0.0, False, -1) for name in unused)
    ):
        raise NotImplementedError(f"attention of another kind: {kv_n_heads=}, {is_causal=}, {unused}")
    heads = ((query, n_heads), (key, kv_n_heads), (value, kv_n_heads))
    q, k, v = (rearrange(x, "b s (h d) -> b h s d", h=number) for x, number in heads)
    if attn_bias is None:
        out = scaled_dot_product_attention(q, k, v, is_causal=True, scale=softmax_scale, enable_gqa=shared)
        return rearrange(out, "b h s d -> b s (h d)"), None, None
    tokens = q.shape[2]
    bias = attn_bias[:, :, :, attn_bias.shape[-1] - tokens :].float()
    seen = torch.ones(tokens, tokens, dtype=torch.bool, device=q.device).tril()
    relative = (bias - bias.transpose(2, 3)).masked_fill(~seen, -torch.inf).to(q.dtype)
    mask = relative.expand(q.shape[0], -1, -1, -1)
    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=softmax_scale)
    return rearrange(out, "b h s d -> b s (h d)"), None, None
