"""A local language-model engine: quantized weights, paged attention, continuous batching."""
