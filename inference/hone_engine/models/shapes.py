"""Shapes of well-known models, for benchmarks on random weights."""

from hone_engine.models.config import ModelConfig


def _llama(
    hidden: int, inner: int, layers: int, heads: int, kv_heads: int, head_dim: int, vocab: int
) -> ModelConfig:
    return ModelConfig(
        architecture="LlamaForCausalLM",
        hidden_size=hidden,
        inner_size=inner,
        num_layers=layers,
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        vocab_size=vocab,
        max_len=131072,
        norm_eps=1e-5,
        rope_theta=500000.0,
        rope_scaling=None,
        tied=False,
    )


SHAPES = {
    "llama-1b": _llama(2048, 8192, 16, 32, 8, 64, 128256),
    "llama-3b": _llama(3072, 8192, 28, 24, 8, 128, 128256),
    "llama-8b": _llama(4096, 14336, 32, 32, 8, 128, 128256),
    "llama-70b": _llama(8192, 28672, 80, 64, 8, 128, 128256),
}
