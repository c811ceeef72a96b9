"""Two judgements of the same rollouts, compared: `rewarden compare`."""
