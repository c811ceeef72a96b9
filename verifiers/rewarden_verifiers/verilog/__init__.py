"""Hardware designs in Verilog: simulated with hidden test benches, or proven equivalent to a reference."""
