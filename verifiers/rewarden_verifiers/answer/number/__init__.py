"""Numbers, quantities, ranges, vectors and distributions: `number`."""
