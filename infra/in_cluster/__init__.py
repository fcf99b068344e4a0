"""Components of what lives in a cluster: one entity, one file. Each is declared by manifests, in a stack of kind `apps`."""
