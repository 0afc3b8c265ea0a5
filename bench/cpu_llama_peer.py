"""llama.cpp's side of cpu_vs_llama.py: run by the Python that has llama-cpp-python.

usage: python cpu_llama_peer.py MODEL.gguf THREADS; then a measure a line on stdin (prompt, answer,
together), answered by one line of JSON: seconds of each step.
"""

import json
import random
import sys
import time

import llama_cpp as llama
import numpy as np

PROMPT_LEN, ANSWER_LEN, NUM_TOGETHER, TOGETHER_LEN = 512, 128, 8, 64


class Peer:
    """One context with room for all measures; greedy tokens are taken from the logits by argmax."""

    def __init__(self, path: str, threads: int) -> None:
        self._log = llama.llama_log_callback(lambda *_: None)
        llama.llama_log_set(self._log, None)
        llama.llama_backend_init()
        model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = 2 * (PROMPT_LEN + ANSWER_LEN), 2048, 512
        params.n_seq_max, params.kv_unified = NUM_TOGETHER, True
        params.n_threads = params.n_threads_batch = threads
        self._model = model
        self._context = llama.llama_init_from_model(model, params)
        self._memory = llama.llama_get_memory(self._context)
        vocab = llama.llama_model_get_vocab(model)
        self._num_vocab = llama.llama_vocab_n_tokens(vocab)
        self._batch = llama.llama_batch_init(2048, 0, NUM_TOGETHER)

    def step(self, rows: list[tuple[int, int, int, bool]]) -> None:
        """Decode rows of (token, position, sequence, wants logits)."""
        batch = self._batch
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[i], batch.pos[i], batch.logits[i] = token, position, wanted
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, sequence
        if llama.llama_decode(self._context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        llama.llama_synchronize(self._context)

    def greedy(self, row: int) -> int:
        logits = llama.llama_get_logits_ith(self._context, row)
        return int(np.ctypeslib.as_array(logits, shape=(self._num_vocab,)).argmax())

    def clear(self) -> None:
        llama.llama_memory_clear(self._memory, True)


def prompt(peer: Peer, rng: random.Random) -> list[float]:
    peer.clear()
    rows = [(rng.randrange(100, 40000), i, 0, i == PROMPT_LEN - 1) for i in range(PROMPT_LEN)]
    began = time.perf_counter()
    peer.step(rows)
    peer.greedy(PROMPT_LEN - 1)
    return [time.perf_counter() - began]


def decode(peer: Peer, rng: random.Random, together: int, length: int) -> list[float]:
    peer.clear()
    tokens, seconds = [rng.randrange(100, 40000) for _ in range(together)], []
    for position in range(length):
        began = time.perf_counter()
        peer.step([(token, position, s, True) for s, token in enumerate(tokens)])
        tokens = [peer.greedy(s) for s in range(together)]
        seconds.append(time.perf_counter() - began)
    return seconds


def main() -> None:
    peer, rng = Peer(sys.argv[1], int(sys.argv[2])), random.Random(0)
    measures = {
        "prompt": lambda: prompt(peer, rng),
        "answer": lambda: decode(peer, rng, 1, ANSWER_LEN),
        "together": lambda: decode(peer, rng, NUM_TOGETHER, TOGETHER_LEN),
    }
    print(json.dumps({"version": llama.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measures[line.strip()]()), flush=True)


if __name__ == "__main__":
    main()
