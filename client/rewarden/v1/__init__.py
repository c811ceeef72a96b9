"""Stubs of `protos/rewarden/v1`, written by `protos/generate.sh`; not to be edited."""
