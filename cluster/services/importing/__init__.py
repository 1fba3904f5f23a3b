"""The parts of `import_cluster`: places and nodes, tenants, people. Each is a no-op when nothing differs."""
