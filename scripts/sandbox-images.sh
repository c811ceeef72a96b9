#!/usr/bin/env bash
# Prepares this machine for the sandbox's tests: a running container engine, images, a root file system. Runs only as root
# with SYSTEM=1; `make images` builds without starting anything.
# usage: sandbox-images.sh PYTHON
set -euo pipefail
[ "${SYSTEM:-}" = 1 ] && [ "$(id -u)" = 0 ] || exit 0
python=$1
log=/var/log/rewarden-dockerd.log

# In CI a missing sandbox is a failure; elsewhere its tests are skipped with their reason.
give_up() {
  echo "$1" >&2
  if [ "${CI:-}" = true ]; then exit 1; else exit 0; fi
}

# An engine that answers can still hang when it is to start a container: seen once, and each test then waited a minute.
starts_containers() {
  "$python" - <<'PYTHON'
import docker

docker.from_env(timeout=60).containers.run("rewarden-sandbox-python", ["true"], network_mode="none", remove=True)
PYTHON
}

answers() { "$python" -c 'import docker; docker.from_env(timeout=5).ping()' >/dev/null 2>&1; }

start_engine() {
  if [ -d /run/systemd/system ]; then
    systemctl start docker
    return
  fi
  # Without an init system, the control groups that the engine needs are not mounted.
  if ! grep -q ' /sys/fs/cgroup[ /]' /proc/mounts && command -v cgroupfs-mount >/dev/null; then cgroupfs-mount; fi
  # The pid file of a killed engine can name a process that is now a different one; the engine then refuses to start.
  local old
  old=$(cat /var/run/docker.pid 2>/dev/null || true)
  if [ -n "$old" ] && [ "$(cat "/proc/$old/comm" 2>/dev/null)" != dockerd ]; then rm -f /var/run/docker.pid; fi
  # In its own session and without our descriptors, so that it outlives this script and nothing waits for it.
  setsid dockerd </dev/null >"$log" 2>&1 &
}

await_engine() {
  start_engine
  for _ in $(seq 120); do
    if answers; then return; fi
    sleep 0.5
  done
  give_up "the container engine does not start: $(tail -n 5 "$log" 2>/dev/null)"
}

# Only in CI, where the engine is nobody else's.
restart_engine() {
  tail -n 40 "$log" >&2 || true
  if [ -d /run/systemd/system ]; then systemctl stop docker containerd || true; fi
  pkill -KILL -x dockerd || true
  pkill -KILL -x containerd || true
  await_engine
}

if ! answers; then
  command -v dockerd >/dev/null || give_up "no container engine is installed"
  await_engine
fi

"$python" -m rewarden_sandboxes.building all --quiet || give_up "cannot build the sandbox's images"

if ! starts_containers; then
  if [ "${CI:-}" = true ]; then restart_engine; fi
  starts_containers || give_up "the container engine answers, and starts no container"
fi
