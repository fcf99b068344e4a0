"""A server of predictions that keeps Vertex AI's contract for containers, wherever it runs. It knows no model: an engine does."""
