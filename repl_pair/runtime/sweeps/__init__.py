"""Many runs: chosen, spread over processes, run again by themselves."""
