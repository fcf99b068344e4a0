"""This machine: what is installed on it."""
