"""Users, organizations, projects, roles, API keys."""
