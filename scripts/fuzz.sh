#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [SECONDS] [TARGET...]: builds the fuzzers and lets each run for so long (30 s), two at a
# time. The first that finds something makes it fail; the input is left in build/fuzz/found.
# FUZZ_SEED is libFuzzer's seed: with it a run depends on the code and not on luck. Random by default.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=30
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
fi
all=$(sed -n 's/.*{"\([a-z0-9_]*\)", run_.*/\1/p' fuzz/targets.cc)
read -ra targets <<<"${*:-${all//$'\n'/ }}"
for target in "${targets[@]}"; do
  [[ " ${all//$'\n'/ } " == *" $target "* ]] || { echo "fuzz: no target '$target'" >&2; exit 2; }
done
[[ -w /dev/shm ]] && export TMPDIR=${TMPDIR:-/dev/shm}

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "$(nproc)" --target "${targets[@]/#/fuzz_}"

one() {
  local target=$1 seconds=$2 found=build/fuzz/found/$1 grown=build/fuzz/corpus/$1
  mkdir -p "$found" "$grown"
  if build/fuzz/fuzz/fuzz_"$target" -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" -timeout=10 \
    -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -artifact_prefix="$found/" "$grown" fuzz/corpus/"$target" \
    >"$found/log" 2>&1; then
    echo "fuzz: $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$found/log") runs"
  else
    tail -n 60 "$found/log"
    echo "fuzz: $target found something; the input is in $found" >&2
    return 1
  fi
}
export -f one
printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} bash -c 'one "$@"' _ {} "$seconds"
