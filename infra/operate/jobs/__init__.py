"""Runs of jobs: a machine is looked for, works, is gone again, and what it made is judged. `python -m infra.operate.jobs` is the runner."""
