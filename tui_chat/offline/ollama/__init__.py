"""Ollama: its native chat API."""
