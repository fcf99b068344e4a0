"""Dated facts about Google Cloud: regions, TPU shapes, zones, prices. Read from `data/*.csv` when first asked for, never at import."""
