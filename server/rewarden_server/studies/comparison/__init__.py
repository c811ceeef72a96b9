"""Two judgements of the same rollouts, held against each other: `rewarden compare`."""
