"""Full-text search: the words, the index, and the queries."""
