"""Kernels: functions on arrays, called in one room and compared with a reference in another."""
