"""The containerised jobs that stacks deploy. Never imports `infra` or `pulumi`; no job is here yet."""
