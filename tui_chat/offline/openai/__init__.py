"""OpenAI's side: one house (headers, errors, models), two dialects."""
