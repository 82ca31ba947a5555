"""Full-text search: the index, the queries, and the planner between them."""
