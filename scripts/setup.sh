#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh [all]: installs the Debian 12 packages that building and the demo need, and with `all` those
# of tests, benchmarks and lint too. Does nothing, and needs no network and no rights, when they are
# all there.
set -euo pipefail
cd "$(dirname "$0")/.."

lists=(scripts/packages.txt)
[[ ${1:-} != all ]] || lists+=(scripts/packages-test.txt)
mapfile -t wanted < <(cat "${lists[@]}" | grep -v '^#' | grep -v '^$')
missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
  [[ $status == ii* ]] || missing+=("$package")
done
# npm may be there without being Debian's, which conflicts with other builds of Node.js.
if command -v npm >/dev/null; then
  keep=()
  for package in "${missing[@]:-}"; do [[ $package == npm || -z $package ]] || keep+=("$package"); done
  missing=("${keep[@]:-}")
  [[ -n ${missing[0]:-} ]] || missing=()
fi
[[ ${#missing[@]} -gt 0 ]] || exit 0

command=(apt-get install -y --no-install-recommends "${missing[@]}")
if [[ $(id -u) == 0 ]]; then
  run=(env DEBIAN_FRONTEND=noninteractive)
elif sudo -n true 2>/dev/null; then
  run=(sudo -n env DEBIAN_FRONTEND=noninteractive)
else
  echo "setup: ${#missing[@]} Debian packages are missing. Install them as root with:" >&2
  echo "  sudo apt-get update && sudo ${command[*]}" >&2
  exit 1
fi
echo "setup: installing ${#missing[@]} Debian packages"
"${run[@]}" apt-get update -q >/dev/null
"${run[@]}" "${command[@]}" >/dev/null
