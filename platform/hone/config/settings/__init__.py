"""One module an environment: dev, prod and test build on base."""
