"""Attention on the GPU against its reference: contexts, heads, pages, mixtures, the same bits."""

import pytest
import torch
from cuda_attention_cases import Heads, attend, close, make_step, same_bits, wanted

from hone_engine.kernels.cuda_attention import CudaAttentionWorkspace, cuda_attention
from hone_engine.kernels.cuda_native import why_no_cuda

REASON = why_no_cuda()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=str(REASON))]

DEVICE = torch.device("cuda", 0)
LLAMA = Heads(8, 2, 128)
# query heads to a head of the cache: 1, 3, 4, 8, more than a tile, two tiles
RATIOS = [
    Heads(2, 2, 64), Heads(9, 3, 64), LLAMA, Heads(8, 1, 128), Heads(12, 1, 64), Heads(16, 1, 256),
]  # fmt: skip
CONTEXTS = [1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 300, 511, 513, 1000, 2049, 5000]
# rows of a step: tails of tiles of 64 and 128 queries and of keys, with and without a prefix
CHUNKS = [
    (2, 2), (64, 64), (65, 65), (128, 128), (129, 129), (200, 77), (700, 300), (1030, 2),
    (4000, 130),
]  # fmt: skip


@pytest.fixture(autouse=True)
def fresh_data() -> None:
    """Data differ from run to run; the seed is told by a failure's captured output."""
    seed = int(torch.seed() & 0xFFFFFF)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    print(f"seed {seed}")  # noqa: T201


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("heads", RATIOS, ids=str)
def test_one_query_is_the_references(heads: Heads, context: int) -> None:
    step = make_step(heads, [context], [1], device=DEVICE)
    close(attend(step), wanted(step))


@pytest.mark.parametrize(("length", "new"), CHUNKS)
@pytest.mark.parametrize("heads", RATIOS, ids=str)
def test_several_queries_are_the_references(heads: Heads, length: int, new: int) -> None:
    step = make_step(heads, [length], [new], device=DEVICE)
    close(attend(step), wanted(step))


@pytest.mark.parametrize("dim", [16, 32, 80, 96, 112, 128, 160, 192, 256])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_heads_of_every_size(dtype: str, dim: int) -> None:
    step = make_step(Heads(6, 2, dim), [300, 257], [1, 70], dtype=dtype, device=DEVICE)
    close(attend(step), wanted(step))


@pytest.mark.parametrize("page", [16, 32, 64, 128, 256, 1024])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_pages_of_every_size(dtype: str, page: int) -> None:
    step = make_step(LLAMA, [1, 700, 350], [1, 1, 90], page=page, dtype=dtype, device=DEVICE)
    close(attend(step), wanted(step))


MIXED = [
    ([1, 16, 17, 250, 129, 4096, 3], [1] * 7),
    ([40, 300, 9, 2000], [1, 21, 9, 1]),
    ([130, 130, 130, 5], [130, 129, 1, 2]),
    ([70] * 40, [1, 3] * 20),
    ([300, 0, 300, 0], [1, 0, 20, 0]),  # sequences that only fill up
]


@pytest.mark.parametrize(("lengths", "new"), MIXED)
def test_prompts_and_single_queries_in_one_step(lengths: list[int], new: list[int]) -> None:
    step = make_step(LLAMA, lengths, new, device=DEVICE)
    close(attend(step), wanted(step))


@pytest.mark.parametrize("window", [1, 2, 20, 64, 100, 128, 1000, 5000])
@pytest.mark.parametrize("heads", [LLAMA, Heads(3, 1, 256), Heads(4, 2, 64)], ids=str)
def test_window_hides_what_lies_further_back(heads: Heads, window: int) -> None:
    step = make_step(heads, [260, 31, 1270, 900, 400], [1, 31, 1, 200, 150], device=DEVICE)
    close(attend(step, window=window), wanted(step, window=window))


@pytest.mark.parametrize("softcap", [0.5, 5.0, 50.0])
def test_softcap_bounds_scores(softcap: float) -> None:
    step = make_step(LLAMA, [260, 31, 700], [1, 31, 150], device=DEVICE)
    more = {"softcap": softcap, "scale": 0.3}
    close(attend(step, **more), wanted(step, **more))
    more["window"] = 100
    close(attend(step, **more), wanted(step, **more))


@pytest.mark.parametrize("split", [64, 128, 512, 1024])
def test_parts_of_every_size(split: int) -> None:
    step = make_step(LLAMA, [1, 64, 65, 700, 3000], [1] * 5, device=DEVICE)
    close(attend(step, split=split), wanted(step))


QUANTIZED = [LLAMA, Heads(9, 3, 64), Heads(3, 1, 256), Heads(6, 2, 96), Heads(12, 1, 32)]


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("dtype", ["q8", "q4"])
@pytest.mark.parametrize("heads", QUANTIZED, ids=str)
def test_quantized_caches_are_the_references(heads: Heads, dtype: str, kind: torch.dtype) -> None:
    lengths, new = [1, 40, 300, 9, 2000, 700], [1, 1, 21, 9, 1, 130]
    step = make_step(heads, lengths, new, dtype=dtype, kind=kind, page=64, device=DEVICE)
    close(attend(step), wanted(step), slack=2)
    more = {"window": 150, "softcap": 8.0}
    close(attend(step, **more), wanted(step, **more), slack=2)


@pytest.mark.parametrize("dtype", ["q8", "q4"])
@pytest.mark.parametrize("context", [1, 16, 17, 64, 255, 257, 1000, 5000])
def test_one_query_over_a_quantized_cache(context: int, dtype: str) -> None:
    step = make_step(LLAMA, [context], [1], dtype=dtype, device=DEVICE)
    close(attend(step), wanted(step), slack=2)


def test_large_scores_do_not_overflow() -> None:
    step = make_step(LLAMA, [500, 200], [1, 40], device=DEVICE)
    close(attend(step, scale=40.0), wanted(step, scale=40.0))


def test_bounds_change_no_bits() -> None:
    step = make_step(LLAMA, [300, 1000, 40], [1] * 3, device=DEVICE)
    first = attend(step)
    close(first, wanted(step))
    for more in ({"max_context": 1000}, {"prefill_rows": 0}, {"overlap": False}):
        assert same_bits(first, attend(step, **more))


@pytest.mark.parametrize(("lengths", "new"), [([4000, 100], [1, 1]), ([900, 600], [300, 600])])
def test_same_bits_every_time(lengths: list[int], new: list[int]) -> None:
    step = make_step(LLAMA, lengths, new, device=DEVICE)
    first = attend(step)
    for _ in range(5):
        assert same_bits(first, attend(step))


def part_of(step, seqs: slice):
    """The same sequences, pages and rows, without the others."""
    rows = step.rows
    firsts = rows.first_rows[seqs.start : seqs.stop + 1]
    mine = slice(int(firsts[0]), int(firsts[-1]))
    few = type(rows)(
        rows.positions[mine].contiguous(),
        rows.seq_of_row[mine] - seqs.start,
        rows.page_table[seqs].contiguous(),
        rows.context_lens[seqs].contiguous(),
        firsts - firsts[0],
    )
    return type(step)(step.heads, step.qkv[mine], step.cache, few, step.workspace), mine


@pytest.mark.parametrize(("dtype", "window"), [("fp16", 0), ("fp16", 90), ("q8", 0), ("q4", 0)])
def test_bits_do_not_depend_on_company(dtype: str, window: int) -> None:
    lengths = [3000, 40, 700, 1, 512, 260, 800]
    step = make_step(LLAMA, lengths, [1, 1, 1, 1, 1, 130, 64], dtype=dtype, device=DEVICE)
    together = attend(step, window=window)
    close(together, wanted(step, window=window), slack=2)
    for seq in range(len(lengths)):
        alone, mine = part_of(step, slice(seq, seq + 1))
        assert same_bits(together[mine], attend(alone, window=window)), lengths[seq]


@pytest.mark.parametrize(("dtype", "window"), [("fp16", 0), ("fp16", 100), ("q4", 0)])
def test_bits_do_not_depend_on_how_a_prompt_is_cut(dtype: str, window: int) -> None:
    whole = make_step(LLAMA, [500], [400], dtype=dtype, device=DEVICE)
    rows, out = whole.rows, attend(whole, window=window)
    for begin, end in ((0, 50), (50, 183), (183, 185), (185, 400)):
        own = slice(begin, end)
        positions = rows.positions[own].contiguous()
        length = positions[-1:] + 1
        firsts = torch.tensor([0, end - begin], dtype=torch.int32, device=DEVICE)
        few = type(rows)(positions, rows.seq_of_row[own], rows.page_table, length, firsts)
        piece = type(whole)(whole.heads, whole.qkv[own], whole.cache, few, whole.workspace)
        assert same_bits(out[own], attend(piece, window=window)), (begin, end)


def test_nothing_is_written_beside_the_output() -> None:
    step = make_step(Heads(3, 1, 64), [90, 40], [1, 33], device=DEVICE)
    around = torch.full((36, 256), 7.0, dtype=torch.float16, device=DEVICE)
    inside = around[1:35, 32 : 32 + 192]
    more = {"num_heads": 3, "scale": 1.5 / 8}
    cuda_attention(step.qkv, step.cache, 1, step.rows, step.workspace, inside, **more)
    close(inside, wanted(step))
    around[1:35, 32 : 32 + 192] = 7
    assert (around == 7).all()


def test_no_rows_give_an_empty_result() -> None:
    assert attend(make_step(LLAMA, [], [], device=DEVICE)).shape == (0, 1024)


def test_wrong_arguments_are_named() -> None:
    step = make_step(LLAMA, [20], [2], device=DEVICE)
    place = (step.cache, 1, step.rows, step.workspace)
    more = {"num_heads": 8, "scale": 0.1}
    with pytest.raises(ValueError, match=r"^qkv: got torch.float32"):
        cuda_attention(step.qkv.float(), *place, **more)
    with pytest.raises(ValueError, match=r"^qkv: got shape"):
        cuda_attention(step.qkv[:, :512], *place, **more)
    with pytest.raises(ValueError, match=r"^cache: got fp16, wanted that of qkv"):
        cuda_attention(step.qkv.bfloat16(), *place, **more)
    with pytest.raises(ValueError, match=r"^rows: got 2 positions"):
        cuda_attention(step.qkv[:1], *place, **more)
    with pytest.raises(ValueError, match=r"^out: got"):
        cuda_attention(step.qkv, *place, step.qkv[:, :64], **more)
    with pytest.raises(ValueError, match=r"^split: got 100"):
        cuda_attention(step.qkv, *place, split=100, **more)
    with pytest.raises(ValueError, match=r"^layer: got 2"):
        cuda_attention(step.qkv, step.cache, 2, step.rows, step.workspace, **more)
    with pytest.raises(ValueError, match=r"^scale: got"):
        cuda_attention(step.qkv, *place, num_heads=8, scale=0.0)
    other = CudaAttentionWorkspace(DEVICE, 1, 4, 2, 128)
    with pytest.raises(ValueError, match=r"^workspace: got"):
        cuda_attention(step.qkv, step.cache, 1, step.rows, other, **more)


@pytest.mark.parametrize("bound", [300, 1024, 2048, 100_000])
@pytest.mark.parametrize("dtype", ["fp16", "q8"])
def test_grids_of_many_sequences_find_all_parts(dtype: str, bound: int) -> None:
    """More pairs of sequence and head than an H200 holds blocks: other rings, other grids."""
    lengths = [1, 64, 65, 128, 257, 299, 300] * 6
    step = make_step(Heads(8, 8, 64), lengths, [1] * 42, page=512, dtype=dtype, device=DEVICE)
    first = attend(step, split=64)
    close(first, wanted(step), slack=2)
    assert same_bits(first, attend(step, split=64, max_context=bound))
