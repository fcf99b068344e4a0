"""The real Pulumi engine on this machine: the official one where it is, else built once from a pinned Go module."""
