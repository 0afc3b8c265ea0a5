"""What every app stands on: errors, paging, events, jobs, clock. Knows no other app."""
