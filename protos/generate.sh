#!/bin/sh
# Writes the Python stubs into client/rewarden/v1 and sandboxes/rewarden_sandboxes/v1.
#
# The stubs are made by the oldest supported generator (protobuf 4.21), in a virtual environment of its own: trainers
# pin protobuf, stubs run under any runtime at least as new as their generator, and none older.
set -eu
cd "$(dirname "$0")/.."
python="${PYTHON:-python3.11}"
tools="$(mktemp -d)"
trap 'rm -rf "$tools"' EXIT
"$python" -m venv "$tools/venv"
"$tools/venv/bin/pip" install --quiet "grpcio-tools==1.51.1" "protobuf==4.21.12" "setuptools<81"
protoc() {
    "$tools/venv/bin/python" -m grpc_tools.protoc "$@"
}
protoc --proto_path=protos --python_out=client --pyi_out=client --grpc_python_out=client protos/rewarden/v1/rewarden.proto
# The folder of a stub is the package that it is imported from, which here is not the protobuf package's name.
protoc --proto_path=rewarden_sandboxes/v1=protos/rewarden_sandbox/v1 \
    --python_out=sandboxes --pyi_out=sandboxes --grpc_python_out=sandboxes rewarden_sandboxes/v1/sandbox.proto
