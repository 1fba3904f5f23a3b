"""Cluster descriptions and job files at the edge: read, checked whole, and only then handed on. No Django."""
