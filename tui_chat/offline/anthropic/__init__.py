"""Anthropic: the Messages protocol."""
