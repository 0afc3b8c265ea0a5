"""Matrices of other programs' formats in tiles of several widths, against their values."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from quantizers import Mixture, Stored, energy_order, exl2, gptq
from safetensors.numpy import save_file

from hone_engine.formats import ModelDirectory
from hone_engine.kernels.cuda_dense import CudaTiles
from hone_engine.kernels.cuda_mixed import CudaMixed
from hone_engine.kernels.cuda_packed import CudaWeight
from hone_engine.layers.cuda_weights import CudaWeightSource
from hone_engine.quant.mixing import mixable, widened

ROWS, COLS = 64, 640
EVERY_WIDTH: Mixture = [
    (8, 32, 0.1), (6, 64, 0.2), (5, 128, 0.2), (4, 32, 0.2), (3, 128, 0.2), (2, 32, 1),
]  # fmt: skip


def weight(seed: int, rows: int = ROWS) -> np.ndarray:
    random = np.random.default_rng(seed)
    return (random.standard_normal((rows, COLS)) * random.uniform(0.5, 2, COLS)).astype(np.float32)


def directory(path: Path, layers: dict[str, Stored], method: str, **more: object) -> ModelDirectory:
    settings = {"quant_method": method, "group_size": 32, **more}
    (path / "config.json").write_text(json.dumps({"quantization_config": settings}))
    stored = {f"{layer}.{part}": a for layer, parts in layers.items() for part, a in parts.items()}
    save_file(
        {name: np.ascontiguousarray(array) for name, array in stored.items()},
        path / "m.safetensors",
    )
    return ModelDirectory(path)


def packed(found: ModelDirectory, *names: str, **more: object) -> CudaMixed:
    source = CudaWeightSource(found, device="cpu", dtype=torch.float16, keep_widths=True)
    weight = source.packed(*(f"{name}.weight" for name in names), **more)
    assert isinstance(weight, CudaMixed)
    return weight


def in_order(weight: CudaTiles) -> np.ndarray:
    """Its values in the order of x."""
    values = weight.dequantize().numpy()
    if weight.order is None:
        return values
    found = np.empty_like(values)
    found[:, weight.order.numpy()] = values
    return found


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "mixture",
    [EVERY_WIDTH, [(3, 64, 0.1), (2, 64, 1)], [(8, 32, 0.05), (4, 128, 1)], [(5, 32, 1)]],
)
def test_exl2_keeps_its_codes(tmp_path: Path, mixture: Mixture, ordered: bool) -> None:
    w = weight(1)
    stored, values = exl2(w, energy_order(w) if ordered else None, mixture)
    found = packed(directory(tmp_path, {"w": stored}, "exl2"), "w")
    assert (found.order is not None) == ordered
    np.testing.assert_array_equal(in_order(found).astype(np.float16), values)
    tiles = [run.bits for run, end in found.spans(COLS // 128) for _ in range(end - run.first)]
    assert tiles == sorted(tiles, reverse=True)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("bits", [2, 3])
@pytest.mark.parametrize("symmetric", [False, True])
def test_gptq_keeps_its_codes(tmp_path: Path, bits: int, symmetric: bool, ordered: bool) -> None:
    w = weight(2)
    order = energy_order(w) if ordered else None
    stored, values = gptq(w, order, bits=bits, group=32, symmetric=symmetric, v2=False)
    found = packed(directory(tmp_path, {"w": stored}, "gptq", bits=bits, sym=symmetric), "w")
    assert {run.bits for run in found.runs} == {bits}
    unit = 0 if symmetric else 2.0**-10 * np.abs(values.astype(np.float32)).max()
    got = in_order(found).astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(got, values.astype(np.float32), rtol=0, atol=unit)


def test_matrices_of_other_widths_are_joined_tile_by_tile(tmp_path: Path) -> None:
    order = energy_order(weight(0))
    made = {
        "q": exl2(weight(3), order, [(5, 128, 0.2), (3, 128, 1)]),
        "v": exl2(weight(4, 32), order, [(6, 32, 0.4), (4, 64, 1)]),
    }
    found = directory(tmp_path, {name: stored for name, (stored, _) in made.items()}, "exl2")
    joined = packed(found, "q", "v")
    values = np.concatenate([values for _, values in made.values()])
    np.testing.assert_array_equal(in_order(joined).astype(np.float16), values)
    assert [run.bits for run in joined.runs] == [6, 4]


def test_rows_come_in_the_order_asked_for(tmp_path: Path) -> None:
    stored, values = exl2(weight(5), None, EVERY_WIDTH)
    rows = np.random.default_rng(1).permutation(ROWS)
    found = packed(directory(tmp_path, {"w": stored}, "exl2"), "w", rows=rows)
    np.testing.assert_array_equal(in_order(found).astype(np.float16), values[rows])


def test_one_width_that_the_other_kernels_have_needs_no_mixture(tmp_path: Path) -> None:
    for bits, wanted in ((4, False), (8, False), (6, True), (2, True)):
        stored, _ = exl2(weight(6), None, [(bits, 32, 1)])
        found = directory(tmp_path, {"w": stored}, "exl2")
        assert mixable([found.specs["w.weight"]]) == wanted


def test_tiles_take_the_bytes_of_their_widths(tmp_path: Path) -> None:
    stored, _ = exl2(weight(7), None, [(3, 128, 0.4), (2, 128, 1)])
    found = packed(directory(tmp_path, {"w": stored}, "exl2"), "w")
    a_tile = [2048 * bits // 8 + 32 for bits in (3, 3, 2, 2, 2)]
    assert found.nbytes == 8 * sum(a_tile)  # 64 rows are padded to a band of 128


def test_widths_become_four_and_eight_where_that_takes_a_third_more_at_most() -> None:
    assert widened([6] * 2 + [5] * 3 + [4] * 20 + [3] * 7) == [8] * 5 + [4] * 27
    assert widened([3] * 4) == [4] * 4
    assert widened([8, 6, 6]) == [8] * 3
    assert widened([3] * 8 + [2] * 8) == [3] * 8 + [2] * 8
    assert widened([5] * 4) == [5] * 4


def fastest(found: ModelDirectory, name: str) -> CudaTiles:
    source = CudaWeightSource(found, device="cpu", dtype=torch.float16)
    weight = source.packed(f"{name}.weight")
    assert isinstance(weight, CudaTiles)
    return weight


def test_wider_codes_have_the_same_values(tmp_path: Path) -> None:
    mixture: Mixture = [(6, 64, 0.2), (4, 128, 0.4), (3, 128, 0.2), (2, 32, 1)]
    stored, values = exl2(weight(8), energy_order(weight(8)), mixture)
    found = fastest(directory(tmp_path, {"w": stored}, "exl2"), "w")
    assert isinstance(found, CudaMixed)
    np.testing.assert_array_equal(in_order(found).astype(np.float16), values)
    spans = found.spans(COLS // 128)
    tiles = [run.bits for run, end in spans for _ in range(end - run.first)]
    assert tiles == [8, 4, 4, 4, 4]


@pytest.mark.parametrize("symmetric", [True, False])
def test_one_width_that_is_widened_needs_no_mixture(tmp_path: Path, symmetric: bool) -> None:
    stored, _ = gptq(weight(9), None, bits=3, group=32, symmetric=symmetric, v2=False)
    made = directory(tmp_path, {"w": stored}, "gptq", bits=3, sym=symmetric)
    found = fastest(made, "w")
    assert isinstance(found, CudaWeight)
    assert (found.bits, found.group, found.has_min) == (4, 32, not symmetric)
    np.testing.assert_array_equal(in_order(found), in_order(packed(made, "w")))
