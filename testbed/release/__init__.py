"""What a project publishes of a version: wheels, packs, a container's recipe, and their sums."""
