"""Local Google Cloud: one HTTP server for the services a shop needs, from Google's own discovery documents, kept in SQLite."""
