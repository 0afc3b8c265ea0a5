"""Choosing the next tokens on a GPU, without a logit leaving it."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hone_engine.kernels.cuda_rowwise import CudaQueue
from hone_engine.kernels.reference_sample import sample_reference
from hone_engine.kernels.sample import SampleBatch

Tensor = torch.Tensor

SETTINGS = np.dtype(
    [
        ("temperature", np.float32),
        ("top_k", np.int32),
        ("top_p", np.float32),
        ("min_p", np.float32),
        ("typical", np.float32),
        ("repetition", np.float32),
        ("presence", np.float32),
        ("frequency", np.float32),
        ("slot", np.int32),  # row of the counts, -1: no penalty
        ("bias_slot", np.int32),  # row of the biases, -1: none
        ("seed_low", np.uint32),
        ("seed_high", np.uint32),
        ("position", np.int32),
        ("num_logprobs", np.int32),
    ]
)  # as SampleRow of csrc/kernels/sampling/sampling.hpp
SETTING_WORDS = SETTINGS.itemsize // 4
PROMPT_TOKEN = 1 << 30  # in a token's count: it stands in the prompt


def neutral_settings(rows: int) -> NDArray[Any]:
    """Settings of greedy rows without penalties or logprobs."""
    settings = np.zeros(rows, SETTINGS)
    settings["top_p"] = settings["typical"] = settings["repetition"] = 1
    settings["slot"] = settings["bias_slot"] = settings["num_logprobs"] = -1
    return settings


NAMES = (
    "temperature", "top_k", "top_p", "min_p", "typical", "repetition", "presence", "frequency",
)  # fmt: skip


def settings_of(
    batch: SampleBatch,
    slots: NDArray[np.int32],
    out: NDArray[Any],
    bias_slots: NDArray[np.int32] | None = None,
) -> None:
    """Write the settings of a batch's rows into `out`, records of SETTINGS."""
    for name in NAMES:
        out[name] = getattr(batch, name)
    out["slot"] = slots
    out["bias_slot"] = -1 if bias_slots is None else bias_slots
    out["seed_low"] = batch.seeds & np.uint64(0xFFFFFFFF)
    out["seed_high"] = batch.seeds >> np.uint64(32)
    out["position"] = batch.positions
    out["num_logprobs"] = batch.num_logprobs


def counts_of(history: NDArray[np.int32], prompt_len: int, vocab: int) -> NDArray[np.int32]:
    """int32 (vocab,): times each token was generated, plus PROMPT_TOKEN where the prompt has it."""
    counts = np.bincount(history[prompt_len:], minlength=vocab).astype(np.int32)
    counts[history[:prompt_len]] |= PROMPT_TOKEN
    return counts


def cuda_sample(
    queue: CudaQueue,
    logits: Tensor,
    settings: Tensor,
    counts: Tensor,
    tokens: Tensor,
    biases: Tensor | None = None,
) -> None:
    """Draw a token a row into `tokens` (int32) and count it where the row has a slot.

    logits: (n, vocab) fp16, bf16 or fp32, unchanged. settings: int32 (n, 14), records of SETTINGS.
    counts: int32 (slots, vocab). biases: fp32 (slots, vocab), added where the row has one, -inf for
    a token that may not be drawn. The same bits in, the same tokens out.
    """
    rows, vocab = logits.shape
    kind = str(logits.dtype).removeprefix("torch.")
    facts, stream, _ = queue.end()
    queue.native.sample(
        logits.data_ptr(), kind, rows, vocab, logits.stride(0) if rows else vocab,
        settings.data_ptr(), counts.data_ptr(), 0 if biases is None else biases.data_ptr(),
        tokens.data_ptr(), facts, stream,
    )  # fmt: skip


def cuda_logprobs(
    queue: CudaQueue, logits: Tensor, settings: Tensor, tokens: Tensor, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Log-softmax of raw logits: at the tokens (n,), and the likeliest `width` a row, best first.

    Rows take their own number (settings' num_logprobs); NaN and -1 are left beyond it.
    """
    rows, vocab = logits.shape
    device = logits.device
    chosen = torch.full((rows,), float("nan"), dtype=torch.float32, device=device)
    top = torch.full((rows, width), float("nan"), dtype=torch.float32, device=device)
    ids = torch.full((rows, width), -1, dtype=torch.int32, device=device)
    kind = str(logits.dtype).removeprefix("torch.")
    queue.native.logprobs(
        logits.data_ptr(), kind, rows, vocab, logits.stride(0) if rows else vocab,
        settings.data_ptr(), tokens.data_ptr(), width, chosen.data_ptr(), ids.data_ptr(),
        top.data_ptr(), queue.end()[1],
    )  # fmt: skip
    return chosen, ids, top


def batch_of(settings: Tensor, counts: Tensor, biases: Tensor | None = None) -> SampleBatch:
    """The settings as the CPU's sampler takes them, histories made up from the counts."""
    words = np.ascontiguousarray(settings.cpu().numpy())
    records = words.view(SETTINGS).reshape(-1)
    batch = SampleBatch.neutral(len(records))
    for name in NAMES:
        getattr(batch, name)[:] = records[name]
    low, high = records["seed_low"].astype(np.uint64), records["seed_high"].astype(np.uint64)
    batch.seeds[:] = low | high << np.uint64(32)
    batch.positions[:], batch.num_logprobs[:] = records["position"], records["num_logprobs"]
    for row, slot in enumerate(records["bias_slot"].tolist()):
        if slot >= 0 and biases is not None:
            batch.biases[row] = biases[slot].cpu().numpy()
    for row, slot in enumerate(records["slot"].tolist()):
        if slot >= 0:
            count = counts[slot].cpu().numpy()
            prompt = np.flatnonzero(count & PROMPT_TOKEN).astype(np.int32)
            times = count & (PROMPT_TOKEN - 1)
            made = np.repeat(np.arange(len(count), dtype=np.int32), times)
            batch.histories[row] = np.concatenate((prompt, made))
            batch.prompt_lens[row] = len(prompt)
    return batch


def _words(settings: Tensor, name: str) -> list[int]:
    """One whole number of each row's settings."""
    field: int = SETTINGS.fields[name][1]  # type: ignore[index]
    return [int(word) for word in settings[:, field // 4].tolist()]


def cuda_sample_reference(
    logits: Tensor,
    settings: Tensor,
    counts: Tensor,
    tokens: Tensor,
    biases: Tensor | None = None,
) -> None:
    """`cuda_sample` by the CPU's reference, on any device."""
    drawn = sample_reference(logits.float().cpu(), batch_of(settings, counts, biases)).tokens
    tokens.copy_(torch.from_numpy(drawn))
    slots = _words(settings, "slot")
    for row, slot in enumerate(slots):
        if slot >= 0:
            counts[slot, int(drawn[row])] += 1


def cuda_logprobs_reference(
    logits: Tensor, settings: Tensor, tokens: Tensor, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """`cuda_logprobs` in plain torch, on any device."""
    rows = logits.shape[0]
    wanted = _words(settings, "num_logprobs")
    logprobs = torch.log_softmax(logits.double().cpu(), dim=-1)
    chosen = torch.full((rows,), float("nan"))
    top, ids = torch.full((rows, width), float("nan")), torch.full((rows, width), -1).int()
    for row, count in enumerate(wanted):
        if count < 0:
            continue
        chosen[row] = logprobs[row, int(tokens[row])]
        best = torch.sort(logprobs[row], descending=True, stable=True)
        ids[row, :count] = best.indices[:count].int()
        top[row, :count] = best.values[:count].float()
    return chosen, ids, top
