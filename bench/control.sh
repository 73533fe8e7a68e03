#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: bench/control.sh [--postgres] [--nodes N] [--seconds S] [-- SERVER-ARGUMENTS...]
# Measures a real `loam server` with default options on a real disk, then the renewals alone on a
# second one whose commits do not wait for company. With --postgres it then does the same on a
# private PostgreSQL on that disk, as figures that end in _postgres. BUILD names another build than
# build/release.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
loam=$build/apps/loam/loam
out=build/bench
mkdir -p "$out"
ulimit -n "$(ulimit -Hn)"
server=
postgres=

stop_postgres() {
  [ -n "$postgres" ] || return 0
  kill -INT "$postgres" 2>/dev/null || true
  wait "$postgres" || true
  postgres=
}

stop_server() {
  [ -n "$server" ] || return 0
  kill -TERM "$server" 2>/dev/null || true
  wait "$server" || true
  server=
}
trap 'stop_server; stop_postgres; rm -rf "$out/state" "$out/postgres"' EXIT

# start_postgres: sets `postgres` and `url`. Its default settings, so each commit waits for the disk.
start_postgres() {
  local bin as=() data=$PWD/$out/postgres
  bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  rm -rf "$data"
  mkdir -p "$data"
  if [ "$(id -u)" = 0 ]; then
    # PostgreSQL refuses to run as root, and its user has to reach the directory.
    chown postgres:postgres "$data"
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  fi
  "${as[@]}" "$bin/initdb" -D "$data/data" -U loam -A trust -E UTF8 --no-locale >/dev/null
  "${as[@]}" "$bin/postgres" -D "$data/data" -k "$data" -c listen_addresses= >"$out/postgres.log" 2>&1 &
  postgres=$!
  for _ in $(seq 100); do
    "$bin/createdb" -h "$data" -U loam loam 2>/dev/null && break
    kill -0 "$postgres" || return 1
    sleep 0.1
  done
  url="postgresql://loam@/loam?host=$data"
}

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
with_postgres=
if [ "${1:-}" = --postgres ]; then with_postgres=1; shift; fi
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

if [ -n "$with_postgres" ]; then
  start_postgres
  on_postgres=(--db "$url" --store "$out/state/store")
  start_server "${on_postgres[@]}" "$@"
  measure --suffix _postgres ${bench_arguments[@]+"${bench_arguments[@]}"}
  stop_postgres
  start_postgres
  start_server --group-commit-ms 0 "${on_postgres[@]}" "$@"
  measure --suffix _postgres --no-wait ${bench_arguments[@]+"${bench_arguments[@]}"}
fi
