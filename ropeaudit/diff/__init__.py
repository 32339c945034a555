"""How two schedules differ, and what that is called."""
