#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Follows the README in a bare Debian 12 tree, as somebody does who has nothing installed: the first
# line's packages, a clone, `make demo`, `make test`. Needs root, debootstrap and a Debian mirror.
#   scripts/newcomer.sh [DIRECTORY] [TARGET…]      default: build/newcomer, demo test
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$(realpath -m "${1:-build/newcomer}")
shift || true
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || targets=(demo test)

mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
  awk '$1 == "deb" && !found {found = $2} $1 == "URIs:" && !found {found = $2} END {print found}' || true)
[[ -n $mirror ]] || { echo "no Debian mirror in /etc/apt/sources.list or sources.list.d" >&2; exit 1; }
[[ -d $tree/etc ]] || debootstrap --variant=minbase bookworm "$tree" "$mirror"
cp /etc/resolv.conf "$tree/etc/resolv.conf"
cp -r /etc/apt/apt.conf.d/. "$tree/etc/apt/apt.conf.d/"
# A network that ends TLS itself is trusted inside as it is here.
mkdir -p "$tree/usr/local/share/ca-certificates"
find /usr/local/share/ca-certificates -name '*.crt' -exec cp -t "$tree/usr/local/share/ca-certificates" {} +
for file in /etc/npmrc /root/.npmrc; do [[ -f $file ]] && install -D "$file" "$tree$file"; done

mounted=()
cleanup() { for at in "${mounted[@]}"; do umount -l "$at"; done; }
trap cleanup EXIT
for at in proc sys dev dev/shm; do
  mkdir -p "$tree/$at"
  mount --rbind "/$at" "$tree/$at"
  mount --make-rslave "$tree/$at"
  mounted=("$tree/$at" "${mounted[@]}")
done
rm -rf "$tree/root/loam"
git clone -q . "$tree/root/loam"

# The first line of the README, between its first pair of backquotes.
first=$(sed -n '1s/^`\([^`]*\)`.*/\1/p' README.md)
inside() { chroot "$tree" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8 bash -euc "$1"; }
inside "$first"
for target in "${targets[@]}"; do
  echo "=== make $target"
  inside "cd /root/loam && make $target"
done
echo "a newcomer got through: $first, then make ${targets[*]}"
