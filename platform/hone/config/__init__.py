"""Settings, URL table and process entry points. Nothing imports this package."""
