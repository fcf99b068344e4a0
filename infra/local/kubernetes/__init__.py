"""The stand-in for the official Kubernetes provider, on machines that do not have that one: it speaks to the sandbox's clusters only."""
