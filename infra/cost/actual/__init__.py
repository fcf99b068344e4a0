"""
What Google billed, from the detailed usage cost export in BigQuery, beside the estimate.

`schema.json` holds the columns that `query.sql` reads, in BigQuery's own form. Source of names, types and meanings:
https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage, and of the labels of GKE cost allocation
https://cloud.google.com/kubernetes-engine/docs/how-to/cost-allocations, read 2026-11.
"""
