"""How long tests wait for what another process or thread does."""

BOUND_S = 60.0
"""It is only reached where something is wrong: a busy machine takes seconds for milliseconds."""
DEADLINE_S = 0.8
"""What a run that is to be stopped is given: also a busy machine has begun it by then."""
DEADLINES_S = (DEADLINE_S, 5.0, 20.0)
"""What it is given one after the other, until it got as far as a test needs it to."""
GRACE = "from repl_pair.runtime.kernel import deadlines; deadlines.GRACE_S = {}; del deadlines"
"""Sets how long a stopped run may take to end, in the process that runs this."""
PATIENT = f"{GRACE.format(BOUND_S)}\n"
