"""Pages of the KV cache: who holds them and which can be reused."""
