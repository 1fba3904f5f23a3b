"""The demonstration: a described cluster with a generated workload, or a public trace, simulated."""
