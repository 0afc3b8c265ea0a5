"""Matrices of other programs' formats as the CPU holds them, against their values."""

import json
from pathlib import Path

import numpy as np
import pytest
from quantizers import Mixture, Stored, awq, energy_order, exl2, gptq
from safetensors.numpy import save_file

from hone_engine.formats import Dense, ModelDirectory, Quantized
from hone_engine.quant.lowering import lower, lowered_spec, widening

ROWS, COLS = 64, 192
EVERY_WIDTH: Mixture = [(8, 32, 0.1), (6, 32, 0.2), (5, 32, 0.2), (4, 32, 0.2), (2, 32, 1)]


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


def put_back(values: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    """Columns in the order of x."""
    if order is None:
        return values
    found = np.empty_like(values)
    found[:, order] = values
    return found


def check(path: Path, stored: Stored, values: np.ndarray, method: str, **more: object) -> Quantized:
    """Lower layer "w", compare it with the values; half a unit of fp16 is the format's rounding."""
    found = directory(path, {"w": stored}, method, **more)
    tensor = found.tensor("w.weight")
    lowered, order = lower([tensor])
    assert isinstance(lowered, Quantized)
    planned = lowered_spec([found.specs["w.weight"]])
    assert (planned.shape, planned.bits, planned.group) == (
        lowered.spec.shape,
        lowered.bits,
        lowered.group,
    )
    assert (order is None) == (not tensor.spec.permuted)
    unit = 2.0**-10 * np.abs(values.astype(np.float32)).max()
    np.testing.assert_allclose(put_back(lowered.float32(), order), values, rtol=0, atol=unit)
    return lowered


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("bits", "group"), [(2, 32), (3, 32), (4, 32), (4, 64), (4, 192), (8, 64)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_gptq_keeps_its_codes(
    tmp_path: Path, bits: int, group: int, symmetric: bool, ordered: bool
) -> None:
    w = weight(bits)
    order = energy_order(w) if ordered else None
    stored, values = gptq(w, order, bits=bits, group=group, symmetric=symmetric, v2=False)
    found = check(tmp_path, stored, values, "gptq", group_size=group, sym=symmetric)
    assert found.bits == (4 if bits == 4 else 8)
    assert (found.mins is None) == (symmetric or bits < 4)
    if found.mins is None:  # nothing was rounded: only the reference rounds the weight itself
        by = None if order is None else np.argsort(stored["g_idx"], kind="stable")
        exact = put_back(found.float32(), by).astype(np.float16)
        np.testing.assert_array_equal(exact, values)


def test_awq_keeps_its_codes(tmp_path: Path) -> None:
    found = check(tmp_path, *awq(weight(1), group=32), "awq")
    assert found.bits == 4
    assert found.mins is not None


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("rows", [64, 50])
@pytest.mark.parametrize(
    "mixture", [EVERY_WIDTH, [(4, 32, 1)], [(4, 64, 1)], [(5, 64, 0.3), (4, 32, 1)]]
)
def test_exl2_keeps_its_codes(tmp_path: Path, mixture: Mixture, rows: int, ordered: bool) -> None:
    w = weight(2, rows)
    order = energy_order(w) if ordered else None
    stored, values = exl2(w, order, mixture)
    found = directory(tmp_path, {"w": stored}, "exl2")
    padded, by = lower([found.tensor("w.weight")])
    assert isinstance(padded, Quantized)
    assert padded.bits == (4 if {bits for bits, *_ in mixture} == {4} else 8)
    exact = put_back(padded.float32(), by)[:rows].astype(np.float16)
    np.testing.assert_array_equal(exact, values)


def test_groups_that_the_kernels_have_not_become_16_bits(tmp_path: Path) -> None:
    stored, values = gptq(weight(3), None, bits=4, group=48, symmetric=True, v2=True)
    found = directory(tmp_path, {"w": stored}, "gptq", group_size=48, checkpoint_format="gptq_v2")
    specs = [found.specs["w.weight"]]
    lowered, order = lower([found.tensor("w.weight")])
    assert isinstance(lowered, Dense)
    assert order is None
    assert widening(specs) == "groups of 48 inputs of 192"
    assert lowered_spec(specs) == lowered.spec
    np.testing.assert_array_equal(lowered.values, values)


def pair(path: Path, orders: list[np.ndarray | None]) -> tuple[ModelDirectory, np.ndarray]:
    made = [
        gptq(weight(seed), order, bits=4, group=32, symmetric=True, v2=False)
        for seed, order in enumerate(orders)
    ]
    found = directory(
        path, {name: parts for name, (parts, _) in zip("qk", made, strict=True)}, "gptq"
    )
    return found, np.concatenate([values for _, values in made])


def test_matrices_of_one_order_are_joined_in_it(tmp_path: Path) -> None:
    order = energy_order(weight(0))
    found, values = pair(tmp_path, [order, order])
    lowered, by = lower([found.tensor("q.weight"), found.tensor("k.weight")])
    assert isinstance(lowered, Quantized)
    assert by is not None
    np.testing.assert_array_equal(np.sort(by), np.arange(COLS))
    np.testing.assert_array_equal(put_back(lowered.float32(), by).astype(np.float16), values)


@pytest.mark.parametrize("second", [None, np.arange(COLS)[::-1].copy()])
def test_matrices_of_two_orders_become_16_bits(tmp_path: Path, second: np.ndarray | None) -> None:
    found, values = pair(tmp_path, [energy_order(weight(0)), second])
    names = ["q.weight", "k.weight"]
    lowered, by = lower([found.tensor(name) for name in names])
    specs = [found.specs[name] for name in names]
    assert isinstance(lowered, Dense)
    assert by is None
    assert lowered_spec(specs) == lowered.spec
    assert widening(specs) == "2 orders of the same input"
    np.testing.assert_array_equal(lowered.values, values)
