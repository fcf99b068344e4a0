"""
What a command line may say: one file a group of commands. Each loads what the command does only when it runs.

Annotations here are values and no text (no `from __future__ import annotations`): typer evaluates text three times, a fifth of `--help`.
"""
