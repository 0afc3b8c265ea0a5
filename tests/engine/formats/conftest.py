"""Small GGUF files, written by the library that llama.cpp's converters use."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

HIDDEN, INNER, HEADS, KV_HEADS, VOCAB, LAYERS = 64, 96, 4, 2, 300, 2
BYTES = [chr(b) for b in [*range(33, 127), *range(161, 173), *range(174, 256)]]
BYTES += [chr(256 + n) for n in range(256 - len(BYTES))]
TOKENS = [*BYTES, "\u0120t", "he", "\u0120the", "<|im_start|>", "<|im_end|>", "<extra>"]
TOKENS += [f"unused{n}" for n in range(VOCAB - len(TOKENS))]
MERGES = ["\u0120 t", "h e", "\u0120t he"]

Make = Callable[..., Path]


def matrices() -> dict[str, tuple[int, int]]:
    head = HIDDEN // HEADS
    shapes = {"token_embd": (VOCAB, HIDDEN), "output": (VOCAB, HIDDEN)}
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_q": (HIDDEN, HIDDEN),
            f"blk.{layer}.attn_k": (KV_HEADS * head, HIDDEN),
            f"blk.{layer}.attn_v": (KV_HEADS * head, HIDDEN),
            f"blk.{layer}.attn_output": (HIDDEN, HIDDEN),
            f"blk.{layer}.ffn_gate": (INNER, HIDDEN),
            f"blk.{layer}.ffn_up": (INNER, HIDDEN),
            f"blk.{layer}.ffn_down": (HIDDEN, INNER),
        }
    return shapes


def add_settings(writer: gguf.GGUFWriter, arch: str) -> None:
    writer.add_name("Tiny")
    writer.add_license("apache-2.0")
    writer.add_context_length(256)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)


def add_tokens(writer: gguf.GGUFWriter, pre: str) -> None:
    kinds = [3 if t.startswith("<|") else 4 if t == "<extra>" else 1 for t in TOKENS]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    writer.add_token_types(kinds)
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(TOKENS.index("<|im_start|>"))
    writer.add_eos_token_id(TOKENS.index("<|im_end|>"))
    writer.add_chat_template("{% for m in messages %}{{ m['content'] }}{% endfor %}")


@pytest.fixture
def make_gguf(tmp_path: Path) -> Make:
    """Writes a small model; `kind` is the type of its matrices, `skip` leaves tensors out."""

    def make(
        kind: str = "F16",
        *,
        arch: str = "llama",
        pre: str = "smollm",
        skip: tuple[str, ...] = (),
        extra: dict[str, Any] | None = None,
        raw: dict[str, tuple[Any, gguf.GGMLQuantizationType]] | None = None,
        settings: Callable[[gguf.GGUFWriter], None] | None = None,
    ) -> Path:
        path = tmp_path / f"tiny.{kind}.gguf"
        writer = gguf.GGUFWriter(path, arch)
        add_settings(writer, arch)
        add_tokens(writer, pre)
        if settings:
            settings(writer)
        random = np.random.default_rng(7)
        quant = gguf.GGMLQuantizationType[kind]
        for name, shape in matrices().items():
            if name in skip:
                continue
            values = random.standard_normal(shape).astype(np.float32)
            writer.add_tensor(f"{name}.weight", gguf.quantize(values, quant), raw_dtype=quant)
        for layer in range(LAYERS):
            for norm in ("attn_norm", "ffn_norm"):
                writer.add_tensor(f"blk.{layer}.{norm}.weight", np.ones(HIDDEN, np.float32))
        writer.add_tensor("output_norm.weight", np.ones(HIDDEN, np.float32))
        for name, values in (extra or {}).items():
            writer.add_tensor(name, values)
        for name, (blocks, raw_type) in (raw or {}).items():
            writer.add_tensor(name, blocks, raw_dtype=raw_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return make
