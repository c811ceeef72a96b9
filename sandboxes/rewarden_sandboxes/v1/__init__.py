"""Stubs of `protos/rewarden_sandbox/v1`, written by `protos/generate.sh`; not to be edited."""
