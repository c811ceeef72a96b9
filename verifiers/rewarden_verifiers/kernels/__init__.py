"""Kernels: functions on arrays, called in a room of their own and compared with a reference in another."""
