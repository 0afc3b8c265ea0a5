"""Products on the GPU against their reference: shapes, tails, formats, types, determinism."""

import pytest
import torch

from hone_engine.kernels.cuda_linear import (
    CudaWorkspace,
    cuda_linear,
    cuda_linear_reference,
)
from hone_engine.kernels.cuda_native import why_no_cuda
from hone_engine.kernels.cuda_packed import CudaWeight, pack_cuda

REASON = why_no_cuda()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=str(REASON))]

# (outputs, columns): one unit and less, tails of 128 in both directions, fewer pieces than blocks,
# bands that many blocks share, several slices of the activations
SHAPES = [
    (1, 128), (16, 128), (33, 256), (128, 384), (576, 640), (200, 4096), (1, 14336), (1000, 1408),
    (4096, 1024), (8200, 128), (40000, 5120),
]  # fmt: skip
ROWS = [1, 2, 3, 7, 8, 9, 16, 17, 31, 32, 33, 48, 63, 64]


@pytest.fixture(scope="module")
def workspace() -> CudaWorkspace:
    return CudaWorkspace(torch.device("cuda", 0))


@pytest.fixture(autouse=True)
def fresh_data() -> int:
    """Data differ from run to run; the seed is told by a failure's captured output."""
    seed = int(torch.seed() & 0xFFFFFF)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    print(f"seed {seed}")  # noqa: T201
    return seed


def weight(
    outs: int, cols: int, *, bits: int = 4, group: int = 128, has_min: bool = False
) -> CudaWeight:
    shape = (outs, cols * bits // 8)
    codes = torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
    if bits == 8 and not has_min:
        codes = codes.view(torch.int8)
    scales = torch.rand(outs, cols // group, device="cuda").add(0.1).mul(0.02 / 2 ** (bits - 4))
    mins = torch.randn(outs, cols // group, device="cuda").mul(0.05)
    return pack_cuda(codes, scales.half(), mins.half() if has_min else None, bits=bits, group=group)


def activations(rows: int, cols: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(rows, cols, device="cuda").to(dtype)


def poisoned(x: torch.Tensor, w: CudaWeight) -> torch.Tensor:
    return torch.full((x.shape[0], w.rows), float("nan"), dtype=x.dtype, device="cuda")


def run(x: torch.Tensor, w: CudaWeight, workspace: CudaWorkspace, **more) -> torch.Tensor:
    workspace.partials.fill_(float("nan"))
    out = cuda_linear(x, w, workspace, poisoned(x, w), **more)
    torch.cuda.synchronize()
    return out


def close(got: torch.Tensor, x: torch.Tensor, w: CudaWeight) -> None:
    """Within the rounding of the output (half a unit is 2^-11, 2^-9), beside exact products."""
    wanted = cuda_linear_reference(x, w)
    assert torch.isfinite(got).all()
    # Sums may cancel, the rounding of weights to 16 bits does not: it is as large as the terms are.
    terms = (x.double().square() @ w.dequantize().double().square().T).sqrt()
    size = max(wanted.norm().item(), terms.norm().item()) + 1e-9
    error = (got.double() - wanted).norm().item() / size
    assert error < (6e-4 if x.dtype == torch.float16 else 3e-3), error
    worst = (got.double() - wanted).abs().max().item() / (wanted.abs().max().item() + 1e-9)
    assert worst < (1e-3 if x.dtype == torch.float16 else 6e-3), worst


@pytest.mark.parametrize(("outs", "cols"), SHAPES)
@pytest.mark.parametrize("rows", ROWS)
def test_product_is_the_references(workspace: CudaWorkspace, rows: int, outs: int, cols: int):
    w, x = weight(outs, cols), activations(rows, cols)
    close(run(x, w, workspace), x, w)


@pytest.mark.parametrize("has_min", [False, True], ids=["symmetric", "min"])
@pytest.mark.parametrize("group", [32, 64, 128])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("rows", [1, 5, 12, 27, 64])
def test_every_format_is_the_references(
    workspace: CudaWorkspace, dtype, bits: int, group: int, has_min: bool, rows: int
):
    cols = 3 * group + 256
    w = weight(296, cols, bits=bits, group=group, has_min=has_min)
    x = activations(rows, cols, dtype)
    close(run(x, w, workspace), x, w)


@pytest.mark.parametrize("rows", [1, 4, 8, 16, 64])
@pytest.mark.parametrize("cols", [32, 96, 160, 4000])
def test_columns_need_only_fill_groups(workspace: CudaWorkspace, rows: int, cols: int):
    w, x = weight(72, cols, group=32), activations(rows, cols)
    close(run(x, w, workspace), x, w)


@pytest.mark.parametrize("outs", [1, 15, 17, 127, 129])
@pytest.mark.parametrize("rows", [1, 13, 40])
def test_product_writes_nothing_beside_its_output(workspace: CudaWorkspace, rows: int, outs: int):
    w, x = weight(outs, 256), activations(rows, 256)
    around = torch.full((rows * outs + 64,), 7.0, dtype=x.dtype, device="cuda")
    inside = around[32 : 32 + rows * outs].view(rows, outs)
    cuda_linear(x, w, workspace, inside)
    close(inside, x, w)
    assert (around[:32] == 7).all()
    assert (around[-32:] == 7).all()


@pytest.mark.parametrize("rows", [1, 8, 16, 32, 64])
@pytest.mark.parametrize(("outs", "cols"), [(4096, 4096), (1024, 14336)])
def test_same_bits_every_time(workspace: CudaWorkspace, rows: int, outs: int, cols: int):
    w, x = weight(outs, cols), activations(rows, cols)
    first = run(x, w, workspace)
    for overlap in (True, False, True, False):
        again = run(x, w, workspace, overlap=overlap)
        assert torch.equal(first.view(torch.int16), again.view(torch.int16))


@pytest.mark.parametrize("rows", [1, 24])
def test_a_chain_that_overlaps_reads_finished_inputs(workspace: CudaWorkspace, rows: int):
    ws = [weight(2048, 2048) for _ in range(12)]
    x = activations(rows, 2048)

    def chain(overlap: bool) -> torch.Tensor:
        h = x
        for w in ws:
            h = cuda_linear(h, w, workspace, overlap=overlap)
        torch.cuda.synchronize()
        return h

    apart = chain(False)
    for _ in range(20):
        assert torch.equal(apart.view(torch.int16), chain(True).view(torch.int16))


def test_a_captured_graph_gives_the_same_bits(workspace: CudaWorkspace):
    w, x = weight(4096, 2048), activations(33, 2048)
    wanted = run(x, w, workspace)
    out = poisoned(x, w)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            cuda_linear(x, w, workspace, out)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(wanted.view(torch.int16), out.view(torch.int16))


def test_more_than_64_rows_and_rows_apart(workspace: CudaWorkspace):
    w = weight(256, 512)
    x = torch.randn(130, 1024, device="cuda").half()[:, :512]
    close(run(x, w, workspace), x, w)


def test_no_rows_give_an_empty_result(workspace: CudaWorkspace):
    assert run(activations(0, 256), weight(64, 256), workspace).shape == (0, 64)


@pytest.mark.parametrize("rows", [1, 64])
def test_large_sums_keep_their_small_differences(workspace: CudaWorkspace, rows: int):
    """Activations far from zero mean: the offset of the codes must not cost precision."""
    w = weight(512, 4096)
    x = activations(rows, 4096) * 0.1 + 3
    close(run(x, w, workspace), x, w)


def test_wrong_arguments_are_named(workspace: CudaWorkspace):
    w, x = weight(64, 256), activations(2, 256)
    with pytest.raises(ValueError, match=r"^x: got torch.float32"):
        cuda_linear(x.float(), w, workspace)
    with pytest.raises(ValueError, match=r"^x: got shape \(2, 128\)"):
        cuda_linear(x[:, :128], w, workspace)
    with pytest.raises(ValueError, match=r"^out: got"):
        cuda_linear(x, w, workspace, torch.empty(2, 65, dtype=x.dtype, device="cuda"))
    with pytest.raises(ValueError, match=r"^x: got an address"):
        cuda_linear(torch.randn(520, device="cuda").half()[1:513].view(2, 256), w, workspace)


# Products by warpgroups: Hopper, 4 bits, 9 to 64 rows; other chips take the other path.
WGMMA_ROWS = [9, 16, 17, 32, 33, 63, 64]


@pytest.mark.parametrize(("outs", "cols"), SHAPES)
@pytest.mark.parametrize("rows", WGMMA_ROWS)
def test_product_by_warpgroups_is_the_references(
    workspace: CudaWorkspace, rows: int, outs: int, cols: int
):
    w, x = weight(outs, cols), activations(rows, cols)
    close(run(x, w, workspace, wgmma_rows=1), x, w)


@pytest.mark.parametrize("has_min", [False, True], ids=["symmetric", "min"])
@pytest.mark.parametrize("group", [32, 64, 128])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("cols", [128, 576, 4096])
@pytest.mark.parametrize("rows", [12, 27, 64])
def test_formats_by_warpgroups_are_the_references(
    workspace: CudaWorkspace, dtype, group: int, has_min: bool, rows: int, cols: int
):
    cols = cols // group * group
    w, x = weight(1290, cols, group=group, has_min=has_min), activations(rows, cols, dtype)
    close(run(x, w, workspace, wgmma_rows=1), x, w)


@pytest.mark.parametrize("outs", [1, 15, 17, 127, 129])
@pytest.mark.parametrize("wide", [False, True], ids=["own", "fp32"])
def test_warpgroups_write_nothing_beside_their_output(
    workspace: CudaWorkspace, outs: int, wide: bool
):
    w, x = weight(outs, 256), activations(40, 256)
    dtype = torch.float32 if wide else x.dtype
    around = torch.full((40 * outs + 64,), 7.0, dtype=dtype, device="cuda")
    inside = around[32 : 32 + 40 * outs].view(40, outs)
    cuda_linear(x, w, workspace, inside, wgmma_rows=1)
    close(inside, x, w)
    assert (around[:32] == 7).all()
    assert (around[-32:] == 7).all()


@pytest.mark.parametrize("rows", [16, 32, 64])
@pytest.mark.parametrize(("outs", "cols"), [(4096, 4096), (1024, 14336)])
def test_warpgroups_give_the_same_bits_every_time(
    workspace: CudaWorkspace, rows: int, outs: int, cols: int
):
    w, x = weight(outs, cols), activations(rows, cols) + 1
    first = run(x, w, workspace, wgmma_rows=1)
    close(first, x, w)
    for overlap in (True, False) * 4:
        again = run(x, w, workspace, overlap=overlap, wgmma_rows=1)
        assert torch.equal(first.view(torch.int16), again.view(torch.int16))


def test_a_chain_by_warpgroups_reads_finished_inputs(workspace: CudaWorkspace):
    ws = [weight(2048, 2048) for _ in range(12)]
    x = activations(48, 2048)

    def chain(overlap: bool) -> torch.Tensor:
        h = x
        for w in ws:
            h = cuda_linear(h, w, workspace, overlap=overlap, wgmma_rows=1)
        torch.cuda.synchronize()
        return h

    apart = chain(False)
    for _ in range(20):
        assert torch.equal(apart.view(torch.int16), chain(True).view(torch.int16))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("has_min", [False, True], ids=["symmetric", "min"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("wgmma_rows", [0, 17])
def test_batch_invariant_rows_do_not_depend_on_their_number(
    workspace: CudaWorkspace, bits: int, has_min: bool, dtype: torch.dtype, wgmma_rows: int
) -> None:
    w = weight(1000, 4096, bits=bits, group=64, has_min=has_min)
    x = activations(150, 4096, dtype)
    more = {"batch_invariant": True, "wgmma_rows": wgmma_rows}
    whole = run(x, w, workspace, **more)
    close(whole, x, w)
    for rows in (1, 2, 8, 9, 16, 17, 32, 33, 63, 64, 65):
        assert torch.equal(run(x[:rows], w, workspace, **more), whole[:rows])
        assert torch.equal(run(x[-rows:], w, workspace, **more), whole[-rows:])
