"""Claims about schedules, one module each: proved, refuted with a witness, or undecided."""
