"""Google Cloud accelerators as Python: a stack file for each region, and one for what lives in its cluster."""
