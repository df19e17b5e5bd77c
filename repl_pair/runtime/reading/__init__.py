"""Reading live values without running any of their code."""
