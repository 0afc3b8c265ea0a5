"""Random weights in the on-disk layout, steps of sequences, and a tolerance."""

from collections.abc import Callable

import numpy as np
import torch

from hone_engine.kernels import (
    PackedWeight,
    Program,
    ReferenceProgram,
    pack_dense,
    pack_quantized,
)

Both = Callable[..., tuple[Program, ReferenceProgram]]


def close(got: torch.Tensor, wanted: torch.Tensor, tolerance: float) -> None:
    """Assert that shapes agree and errors stay below `tolerance` of the largest value."""
    assert got.shape == wanted.shape
    error = (got - wanted).abs().max().item()
    assert error <= tolerance * max(1e-6, wanted.abs().max().item()), error


def random_weight(
    kind: str, rows: int, cols: int, seed: int = 0, *, extreme: bool = False
) -> PackedWeight:
    """A weight of a kind such as "q4", "q4m" (with minimums), "q5m/64" (groups of 64), "fp16"."""
    generator = torch.Generator().manual_seed(seed)
    dense = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
    if kind in dense:
        values = torch.randn(rows, cols, generator=generator).mul(0.05).to(dense[kind])
        if kind == "bf16":
            return pack_dense(values.view(torch.int16).numpy(), "bfloat16")
        return pack_dense(values.numpy())
    bits, group = int(kind[1]), 64 if kind.endswith("/64") else 32
    with_mins = "m" in kind

    def codes(width: int) -> torch.Tensor:
        if extreme:
            return torch.full(
                (rows, width), 255 if with_mins or bits != 8 else 128, dtype=torch.uint8
            )
        return torch.randint(0, 256, (rows, width), generator=generator, dtype=torch.uint8)

    main = codes(cols if bits == 8 else cols // 2)
    if bits == 8 and not with_mins:
        main = main.view(torch.int8)
    scales = torch.rand(rows, cols // group, generator=generator).mul(0.02).half()
    mins = torch.randn(rows, cols // group, generator=generator).mul(0.05).half()
    return pack_quantized(
        main,
        scales,
        mins if with_mins else None,
        bits=bits,
        group=group,
        high=codes(cols // 8) if bits == 5 else None,
    )


def batch(lengths: list[int], new: list[int], page_size: int = 16) -> dict[str, np.ndarray]:
    """A step of sequences of `lengths` tokens, the latest `new` of them in this step."""
    num_pages = max([1, *(-(-n // page_size) for n in lengths)])
    pages = np.arange(len(lengths) * num_pages, dtype=np.int32)[::-1].copy()
    rows = [
        (s, p) for s, (n, k) in enumerate(zip(lengths, new, strict=True)) for p in range(n - k, n)
    ]
    ends = np.cumsum(new) - 1
    return {
        "tokens": np.array([(7 * p + 3 * s) % 50 for s, p in rows], np.int32),
        "positions": np.array([p for _, p in rows], np.int32),
        "seq_of_row": np.array([s for s, _ in rows], np.int32),
        "page_table": pages.reshape(len(lengths), num_pages),
        "context_lens": np.array(lengths, np.int32),
        "logit_rows": np.array([e for e, k in zip(ends, new, strict=True) if k], np.int32),
    }


def run(program: Program | ReferenceProgram, step: dict[str, np.ndarray]) -> torch.Tensor:
    """What a program makes of a step, as a copy."""
    return torch.from_numpy(program.run(**step).copy())


def plain(rows: int) -> dict[str, np.ndarray]:
    """A step of `rows` tokens of one sequence for operations that need no cache."""
    return batch([rows], [rows]) if rows else batch([], [])
