"""The variables panel: what an agent could list of the person's variables, and read of them."""
