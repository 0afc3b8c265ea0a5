"""Model directories: Hone's own, and Hugging Face ones, plain or quantized by other programs."""

from pathlib import Path
from typing import Any, Protocol, cast

from hone_engine.formats import awq, exl2, gptq, own
from hone_engine.formats.errors import FormatError
from hone_engine.formats.quantization import KEY, Quantization, find_quantization
from hone_engine.formats.segments import Segments
from hone_engine.formats.shards import Shards, read_json
from hone_engine.formats.spec import Storage, TensorSpec
from hone_engine.formats.tensors import Dense, Foreign, Tensor

HONE = "hone.json"
TIED = "tie_word_embeddings"
SIDECARS = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "chat_template.jinja",
)


class Reader(Protocol):
    """A module that reads one format of others; `stem` is a layer, MARK follows it in a file."""

    MARK: str

    def spec(self, shards: Shards, stem: str, how: Quantization) -> TensorSpec:
        """How the layer's matrix lies; FormatError where its parts do not fit together."""
        ...

    def read(self, shards: Shards, stem: str, spec: TensorSpec, how: Quantization) -> Segments:
        """What the parts mean."""
        ...


READERS: dict[str, Reader] = {"exl2": exl2, "gptq": gptq, "awq": awq}


class ModelDirectory:
    """A `Checkpoint` over a directory; opening reads headers and the small tables of groups."""

    def __init__(self, path: Path):
        self.path = path
        self.config = read_json(path / "config.json")
        self._shards = Shards(path)
        self.how = find_quantization(path, self.config, self._shards.names)
        self._reader = READERS.get(self.how.method or "")
        if self.how.settings:
            self.config[KEY] = dict(self.how.settings)
        if "lm_head.q_weight" in self._shards or "lm_head.qweight" in self._shards:
            self.config[TIED] = False  # a quantized head is one of its own
        self._groups = own.group_facts(self._shards)
        self.specs: dict[str, TensorSpec] = self._find_specs()

    def _find_specs(self) -> dict[str, TensorSpec]:
        """In the order of the files, the parts of a quantized tensor as one."""
        specs: dict[str, TensorSpec] = {}
        parts: set[str] = set()
        for name in self._shards.names:
            whole, spec = self._spec_at(name)
            if spec is not None:
                specs[whole] = spec
                parts |= set(spec.part_names(whole) if spec.foreign else ())
        if missing := [name for name in self._groups if name not in specs]:
            raise FormatError(f"{self.path}: tensor {missing[0]}.codes is missing")
        return {name: spec for name, spec in specs.items() if name not in parts}

    def _spec_at(self, name: str) -> tuple[str, TensorSpec | None]:
        """The tensor that one in a file belongs to; its spec where it is the first part."""
        stem, _, last = name.rpartition(".")
        if stem in self._groups:
            facts = self._groups[stem]
            return stem, own.quantized_spec(self._shards, stem, facts) if last == "codes" else None
        if self._reader is not None and name.endswith(self._reader.MARK):
            return f"{stem}.weight", self._reader.spec(self._shards, stem, self.how)
        entry = self._shards.entry(name)
        return name, TensorSpec(entry.shape, cast(Storage, entry.dtype))

    def tensor(self, name: str) -> Tensor:
        spec = self.specs[name]
        if spec.foreign:
            return self._foreign(name, spec)
        if spec.storage == "quantized":
            return own.read(self._shards, name, spec)
        if spec.storage not in ("fp32", "fp16", "bf16"):
            raise FormatError(
                f"{self._shards.file(name)}: tensor {name} is {spec.storage}; "
                "wanted F32, F16 or BF16"
            )
        return Dense(self._shards.array(name), spec.storage)

    def _foreign(self, name: str, spec: TensorSpec) -> Foreign:
        assert self._reader is not None
        stem, read = name.removesuffix(".weight"), self._reader.read
        arrays = tuple(self._shards.array(part) for part in spec.part_names(name))
        return Foreign(spec, arrays, lambda: read(self._shards, stem, spec, self.how))

    def release(self, name: str) -> None:
        for part in self.specs[name].part_names(name):
            self._shards.release(part)

    def file(self, name: str) -> Path:
        return self._shards.file(self.specs[name].part_names(name)[0])

    def sidecars(self) -> dict[str, bytes]:
        paths = [self.path / name for name in SIDECARS]
        return {path.name: path.read_bytes() for path in paths if path.exists()}

    def facts(self) -> dict[str, Any]:
        if (self.path / HONE).exists():
            return read_json(self.path / HONE)
        source = {"format": self.how.method or "huggingface"}
        return {"name": self.path.name, "source": source}
