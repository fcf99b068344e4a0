"""Pulumi providers in Python, on the engine's raw protocol."""
