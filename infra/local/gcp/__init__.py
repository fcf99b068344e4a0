"""The stand-in gcp provider: for machines without the official plugin. It makes the same calls, to the sandbox only."""
