"""Llama and what is shaped like it: Mistral (a window), Qwen 2 (biases on q, k and v)."""

from dataclasses import dataclass

from hone_engine.kernels import KVCache, PackedWeight, Recorder
from hone_engine.layers import (
    Attention,
    GatedMLP,
    RMSNorm,
    RotaryTable,
    WeightSource,
    rotary_table,
)
from hone_engine.models.config import ModelConfig

EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"


def _tensor_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor that a checkpoint must have, with its shape."""
    hidden, inner = config.hidden_size, config.inner_size
    q_len, kv_len = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    matrices = {
        "self_attn.q_proj": (q_len, hidden, config.qkv_bias),
        "self_attn.k_proj": (kv_len, hidden, config.qkv_bias),
        "self_attn.v_proj": (kv_len, hidden, config.qkv_bias),
        "self_attn.o_proj": (hidden, q_len, config.out_bias),
        "mlp.gate_proj": (inner, hidden, config.mlp_bias),
        "mlp.up_proj": (inner, hidden, config.mlp_bias),
        "mlp.down_proj": (hidden, inner, config.mlp_bias),
    }
    shapes: dict[str, tuple[int, ...]] = {EMBEDDING: (config.vocab_size, hidden)}
    for layer in range(config.num_layers):
        prefix = f"model.layers.{layer}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{prefix}.{norm}.weight"] = (hidden,)
        for name, (rows, cols, bias) in matrices.items():
            shapes[f"{prefix}.{name}.weight"] = (rows, cols)
            if bias:
                shapes[f"{prefix}.{name}.bias"] = (rows,)
    shapes["model.norm.weight"] = (hidden,)
    if not config.tied:
        shapes[HEAD] = (config.vocab_size, hidden)
    return shapes


def _packed_names(config: ModelConfig) -> list[tuple[str, ...]]:
    """The tensors of each packed matrix, as `Llama.load` packs them."""
    names: list[tuple[str, ...]] = [(EMBEDDING,)]
    for layer in range(config.num_layers):
        for parts in (
            ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
            ("self_attn.o_proj",),
            ("mlp.gate_proj", "mlp.up_proj"),
            ("mlp.down_proj",),
        ):
            names.append(tuple(f"model.layers.{layer}.{part}.weight" for part in parts))
    return names if config.tied else [*names, (HEAD,)]


@dataclass(frozen=True, slots=True)
class Block:
    """One layer: x += attention(norm(x)); x += mlp(norm(x))."""

    attention_norm: RMSNorm
    attention: Attention
    mlp_norm: RMSNorm
    mlp: GatedMLP

    @classmethod
    def load(
        cls, source: WeightSource, name: str, config: ModelConfig, rotary: RotaryTable
    ) -> "Block":
        return cls(
            RMSNorm.load(source, f"{name}.input_layernorm", config.norm_eps),
            Attention.load(
                source,
                f"{name}.self_attn",
                num_heads=config.num_heads,
                head_dim=config.head_dim,
                rotary=rotary,
                window=config.window,
                qkv_bias=config.qkv_bias,
                out_bias=config.out_bias,
            ),
            RMSNorm.load(source, f"{name}.post_attention_layernorm", config.norm_eps),
            GatedMLP.load(source, f"{name}.mlp", bias=config.mlp_bias),
        )


@dataclass(frozen=True, slots=True)
class Llama:
    """Packed weights of a whole model; `record` writes its forward pass into a program."""

    config: ModelConfig
    embedding: PackedWeight  # (vocab, hidden)
    blocks: tuple[Block, ...]
    norm: RMSNorm
    head: PackedWeight  # (vocab, hidden); the embedding itself where they are tied

    @staticmethod
    def tensor_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
        return _tensor_shapes(config)

    @staticmethod
    def packed_names(config: ModelConfig) -> list[tuple[str, ...]]:
        return _packed_names(config)

    @classmethod
    def load(cls, source: WeightSource, config: ModelConfig) -> "Llama":
        rotary = rotary_table(
            config.rope_theta, config.head_dim, config.max_len, config.rope_scaling
        )
        embedding = source.packed(EMBEDDING)
        blocks = tuple(
            Block.load(source, f"model.layers.{layer}", config, rotary)
            for layer in range(config.num_layers)
        )
        return cls(
            config,
            embedding,
            blocks,
            RMSNorm.load(source, "model.norm", config.norm_eps),
            embedding if config.tied else source.packed(HEAD),
        )

    @property
    def num_bytes(self) -> int:
        """Bytes of the packed matrices."""
        packed = [self.embedding, *([] if self.config.tied else [self.head])]
        for block in self.blocks:
            packed += [block.attention.qkv, block.attention.out, block.mlp.gate_up, block.mlp.down]
        return sum(weight.nbytes for weight in packed)

    def record(self, program: Recorder, cache: KVCache) -> None:
        """The forward pass of a step; its result are the logits of the wanted rows."""
        config = self.config
        width = (config.num_heads + 2 * config.num_kv_heads) * config.head_dim
        x, normed = program.buffer(config.hidden_size), program.buffer(config.hidden_size)
        qkv = program.buffer(width)
        heads = program.buffer(config.num_heads * config.head_dim)
        gate_up, inner = program.buffer(2 * config.inner_size), program.buffer(config.inner_size)
        latest = program.buffer(config.hidden_size, gathered=True)
        logits = program.buffer(config.vocab_size, gathered=True)

        program.embed(self.embedding, x)
        for layer, block in enumerate(self.blocks):
            block.attention_norm.record(program, x, normed)
            block.attention.record(program, cache, layer, normed=normed, qkv=qkv, heads=heads, x=x)
            block.mlp_norm.record(program, x, normed)
            block.mlp.record(program, normed=normed, gate_up=gate_up, inner=inner, x=x)
        program.gather_logits(x, latest)
        self.norm.record(program, latest, latest)
        program.linear(latest, self.head, logits)


def buffer_cols(config: ModelConfig) -> tuple[int, int]:
    """Columns of all scratch: of those with a row a token, of those with a row a logit row."""
    width = (2 * config.num_heads + 2 * config.num_kv_heads) * config.head_dim
    return 2 * config.hidden_size + width + 3 * config.inner_size, (
        config.hidden_size + config.vocab_size
    )
