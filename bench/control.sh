#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: bench/control.sh [--nodes N] [--seconds S] [-- SERVER-ARGUMENTS...]
# Measures a real `loam server` with default options on a real disk, then the renewals alone on a
# second one whose commits do not wait for company. BUILD names another build than build/release.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
loam=$build/apps/loam/loam
out=build/bench
mkdir -p "$out"
ulimit -n "$(ulimit -Hn)"
server=

stop_server() {
  [ -n "$server" ] || return 0
  kill -TERM "$server" 2>/dev/null || true
  wait "$server" || true
  server=
}
trap 'stop_server; rm -rf "$out/state"' EXIT

# start_server ARGUMENTS...: sets `server` and `port`.
start_server() {
  rm -rf "$out/state"
  "$loam" server --port 0 --state-dir "$out/state" --log-file "$out/server.log" "$@" \
    >"$out/server.out" &
  server=$!
  for _ in $(seq 100); do
    port=$(sed -n 's/^loam server .* listens on http:.*:\([0-9]*\)$/\1/p' "$out/server.out")
    [ -z "$port" ] || return 0
    kill -0 "$server" || return 1
    sleep 0.1
  done
  echo "the server did not start" >&2
  return 1
}

# measure ARGUMENTS...: of control_bench.
measure() {
  "$build/bench/control_bench" --port "$port" --pid "$server" --state-dir "$out/state" \
    --out "$out/control.json" "$@"
  stop_server
}

bench_arguments=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do bench_arguments+=("$1"); shift; done
[ $# -eq 0 ] || shift

[ "$(stat -f -c %T "$out")" != tmpfs ] || { echo "$out is not on a disk" >&2; exit 1; }
rm -f "$out/server.log"
start_server "$@"
measure ${bench_arguments[@]+"${bench_arguments[@]}"}
if "$loam" server --help | grep -q -e --group-commit-ms; then
  start_server --group-commit-ms 0 "$@"
  measure --no-wait ${bench_arguments[@]+"${bench_arguments[@]}"}
else
  echo "loam server has no --group-commit-ms; the latencies without that wait are left out" >&2
fi
