"""What does transformers answer? Writes the golden file of tests/engine/models.

Run it in an environment of its own (torch 2.13.0, transformers 5.24.0, accelerate, gguf 0.19.0):

    python bench/make_golden_smollm2.py SmolLM2-135M-Instruct.Q4_1.gguf OUT.npz

transformers reads the GGUF file itself (not our import), the weights are rounded to fp16 as
`hone import --bits 16` stores them, and everything is computed in fp32: 64 greedy tokens after
each of 20 prompts, the margin of each choice, and some rows of logits.
"""

import argparse
import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

NUM_TOKENS = 64
STRIDE = 17  # of the vocabulary, in the stored logit rows
TEXT_LEN = 256

CHATS = [
    "What is the capital of France?",
    "Write one sentence about the ocean.",
    "Write a Python function that adds two numbers.",
    "List three fruits and their colors.",
    "Explain photosynthesis to a child.",
    "Translate 'good morning' into Spanish.",
    "Who wrote Romeo and Juliet, and when?",
    "Give me a recipe for pancakes.",
    "What is 17 + 25?",
    "Summarize: The cat sat on the mat. It was warm. The cat fell asleep and dreamed of fish.",
]
TEXTS = [
    "Once upon a time, in a small village by the sea,",
    "The history of the Roman Empire began",
    "def fibonacci(n):\n    ",
    "import numpy as np\n\n# Compute the mean of each column\n",
    "Die Hauptstadt von Deutschland ist",
    "El r\u00edo m\u00e1s largo del mundo es",
    "\u6771\u4eac\u306f",
    "1, 1, 2, 3, 5, 8, 13,",
    "Q: Why is the sky blue?\nA:",
    "| Country | Capital |\n|---|---|\n| Italy | Rome |\n| Spain |",
]


def prompts(tokenizer) -> list[list[int]]:
    chats = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            add_generation_prompt=True,
            tokenize=False,
        )
        for text in CHATS
    ]
    texts = chats + TEXTS
    return [tokenizer(text, add_special_tokens=False).input_ids for text in texts]


@torch.inference_mode()
def answer(model, prompt: list[int]) -> tuple[list[int], list[float], torch.Tensor]:
    """Greedy tokens, the margin of each over the next best, the logits after the prompt."""
    found, margins, first, cache = [], [], None, None
    ids = torch.tensor([prompt])
    for _ in range(NUM_TOKENS):
        result = model(input_ids=ids, past_key_values=cache, use_cache=True)
        cache, logits = result.past_key_values, result.logits[0, -1].float()
        first = logits if first is None else first
        top = logits.topk(2)
        found.append(int(top.indices[0]))
        margins.append(float(top.values[0] - top.values[1]))
        ids = torch.tensor([[found[-1]]])
    return found, margins, first


@torch.inference_mode()
def draw_texts(model, num_texts: int) -> np.ndarray:
    """Texts drawn token by token at temperature 1, each from a random ordinary token."""
    random = torch.Generator().manual_seed(20)
    found = torch.randint(1000, 20000, (num_texts, 1), generator=random)
    cache, ids = None, found
    while found.shape[1] < TEXT_LEN:
        result = model(input_ids=ids, past_key_values=cache, use_cache=True)
        cache = result.past_key_values
        weights = torch.softmax(result.logits[:, -1].double(), dim=-1)
        ids = torch.multinomial(weights, 1, generator=random)
        found = torch.cat((found, ids), dim=1)
    return found.numpy().astype(np.int32)


@torch.inference_mode()
def mean_nll(model, texts: np.ndarray) -> float:
    """Mean negative log-likelihood of all tokens but each text's first."""
    ids = torch.from_numpy(texts).long()
    losses = [
        torch.nn.functional.cross_entropy(model(input_ids=row[None]).logits[0, :-1], row[1:])
        for row in ids
    ]
    return float(torch.stack(losses).double().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gguf", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    where, name = args.gguf.parent, args.gguf.name
    tokenizer = AutoTokenizer.from_pretrained(where, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(where, gguf_file=name, dtype=torch.float32).eval()
    for parameter in model.parameters():
        parameter.data = parameter.data.half().float()
    all_prompts = prompts(tokenizer)
    answers = [answer(model, prompt) for prompt in all_prompts]
    logits = torch.stack([first for _, _, first in answers]).numpy()
    drawn = draw_texts(model, 8)
    np.savez_compressed(
        args.out,
        chats=np.array(CHATS),
        texts=np.array(TEXTS),
        prompts=np.concatenate([np.array(prompt, np.int32) for prompt in all_prompts]),
        prompt_lens=np.array([len(prompt) for prompt in all_prompts], np.int32),
        tokens=np.array([tokens for tokens, _, _ in answers], np.int32),
        margins=np.array([margins for _, margins, _ in answers], np.float16),
        logits=logits[:, ::STRIDE].astype(np.float16),
        logits_whole=logits[0].astype(np.float16),
        drawn=drawn,
        drawn_nll=np.float64(mean_nll(model, drawn)),
    )
    low = min(min(margins) for _, margins, _ in answers)
    print(f"{args.out}: {args.out.stat().st_size} bytes, smallest margin {low:.5f}")


if __name__ == "__main__":
    main()
