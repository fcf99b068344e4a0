"""Google Cloud accelerators as Python: one stack file a region."""
