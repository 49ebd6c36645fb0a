"""The only place that reads settings and chooses implementations."""
