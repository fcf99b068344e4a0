"""The report: one self-contained page a stack, for people who run no command."""
