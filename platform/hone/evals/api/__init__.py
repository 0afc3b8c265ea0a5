"""The REST edge of datasets and runs, our own and the public one."""
