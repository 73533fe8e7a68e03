#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh fast|all. Each part prints its name and time; the first that fails ends the run. What a part
# starts, it stops by process id.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-all}
jobs=$(nproc)
# Tests write much and check what they promise, not the disk: RAM is as good and far quicker.
[[ -w /dev/shm ]] && export TMPDIR=${TMPDIR:-/dev/shm}

part() {
  local name=$1 begin=$SECONDS
  shift
  echo "=== $name"
  "$@"
  echo "--- $name: $((SECONDS - begin)) s"
}
build() { cmake --preset "$1" >/dev/null && cmake --build --preset "$1" -j "$jobs" ${2:+--target $2}; }
suite() { ctest --preset "$1" -j "$jobs" --timeout 300 ${2:+-L "$2"}; }

part "tidy" /usr/bin/python3 -m pytest -q -p no:cacheprovider tests
part "build" build release
part "unit and property tests" suite release
[[ $mode == fast ]] && exit 0

tests=$(cd build/release && ctest -N | sed -n 's/^ *Test *#[0-9]*: //p' | tr '\n' ' ')
part "build with address and undefined-behaviour sanitizers" build asan "$tests"
part "tests with them" suite asan
part "build with the thread sanitizer" build tsan "net_test db_test object_test"
part "concurrent parts with it" env TSAN_OPTIONS=halt_on_error=1 \
  ctest --preset tsan -R '^(net_test|net_test_tls|db_test|object_test)$' --timeout 300
part "fuzzers, 30 s each" env FUZZ_SEED=1 scripts/fuzz.sh 30
# Last, so that its own closing line is the whole run's.
echo "=== the example and the whole system"
exec /usr/bin/python3 -m pytest -q -p no:cacheprovider examples/emoji-diffusion e2e
