"""OpenAI: Chat Completions and Responses."""
