"""GGUF, llama.cpp's file format."""
