"""The only package that imports aiosqlite."""
