"""Anthropic's side: headers, errors and models (`house`), and the Messages protocol."""
