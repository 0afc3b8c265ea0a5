"""A GGUF file as a checkpoint of the llama family."""

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np

from hone_engine.formats.errors import FormatError
from hone_engine.formats.gguf import blocks
from hone_engine.formats.gguf.header import GGUFFile, TensorInfo
from hone_engine.formats.gguf.names import ROPE_FACTORS, hf_config, hf_name
from hone_engine.formats.gguf.vocabulary import tokenizer_files
from hone_engine.formats.spec import Array, TensorSpec
from hone_engine.formats.tensors import Dense, Tensor


class GGUFCheckpoint:
    """A `Checkpoint` over one GGUF file; opening reads its head only."""

    def __init__(self, path: Path):
        self.path = path
        self._file = GGUFFile(path)
        self._infos: dict[str, TensorInfo] = {}
        for name, info in self._file.tensors.items():
            known = hf_name(name)
            if known is not None:
                self._infos[known] = info
        self.config = self._find_config()
        try:
            self.specs: dict[str, TensorSpec] = {
                name: blocks.spec_of(info) for name, info in self._infos.items()
            }
        except FormatError as error:
            raise FormatError(f"{path}: {error}") from None
        self._refuse_strangers()

    def _find_config(self) -> dict[str, Any]:
        embedding = self._infos.get("model.embed_tokens.weight")
        factors = self._file.tensors.get(ROPE_FACTORS)
        return hf_config(
            self.path,
            self._file.values,
            vocab_len=embedding.shape[0] if embedding else 0,
            tied="lm_head.weight" not in self._infos,
            factors=[float(f) for f in blocks.read(self._file.map, factors).arrays()[0]]
            if factors
            else None,
        )

    def _refuse_strangers(self) -> None:
        """A tensor that we would leave out (a bias, a router) would silently change the model."""
        for name in self._file.tensors:
            if hf_name(name) is None and name != ROPE_FACTORS:
                raise FormatError(
                    f"{self.path}: tensor {name} is none of a "
                    f"{self.config['architectures'][0]} model"
                )

    def tensor(self, name: str) -> Tensor:
        found = blocks.read(self._file.map, self._infos[name])
        heads = self._rotated_heads(name)
        if heads == 0:
            return found
        order = unrotated_order(found.spec.shape[0], heads)
        return (
            Dense(found.values[order], found.dtype)
            if isinstance(found, Dense)
            else found.take_rows(order)
        )

    def _rotated_heads(self, name: str) -> int:
        """Heads whose rows llama.cpp's converter interleaved; 0 for a tensor that it left alone."""
        if self.config["model_type"] != "llama":
            return 0
        if ".q_proj." in name:
            return int(self.config["num_attention_heads"])
        return int(self.config["num_key_value_heads"]) if ".k_proj." in name else 0

    def file(self, name: str) -> Path:
        return self.path

    def release(self, name: str) -> None:
        info, page = self._infos[name], mmap.PAGESIZE
        begin = -(-info.begin // page) * page
        num_bytes = (info.begin + info.num_bytes) // page * page - begin
        if num_bytes > 0:
            self._file.map.madvise(mmap.MADV_DONTNEED, begin, num_bytes)

    def sidecars(self) -> dict[str, bytes]:
        return tokenizer_files(self.path, self._file.values) | {
            "generation_config.json": json.dumps(self._generation_config(), indent=2).encode()
        }

    def _generation_config(self) -> dict[str, Any]:
        ids = {key: self.config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
        eot = self._file.values.get("tokenizer.ggml.eot_token_id")
        if eot is not None and eot != ids["eos_token_id"]:
            ids["eos_token_id"] = [ids["eos_token_id"], eot]
        return {key: value for key, value in ids.items() if value is not None}

    def facts(self) -> dict[str, Any]:
        values = self._file.values
        return {
            "name": values.get("general.name") or self.path.stem,
            "license": values.get("general.license"),
            "source": {"format": "gguf", "file": self.path.name},
        }


def unrotated_order(num_rows: int, num_heads: int) -> Array:
    """Which row of a GGUF llama q/k matrix each row of the HF one is.

    llama.cpp's converter pairs dimension i of a head with i + half as neighbors; HF keeps halves.
    """
    rows = np.arange(num_rows).reshape(num_heads, num_rows // num_heads // 2, 2)
    return rows.swapaxes(1, 2).reshape(num_rows)
