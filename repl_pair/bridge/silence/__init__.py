"""Why a kernel does not answer, what its callers are answered, and what was last known of it."""
