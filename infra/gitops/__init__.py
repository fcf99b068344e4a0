"""Stacks that follow the repository: which ones a change touches, what is told of them, and the files that a pipeline reads."""
