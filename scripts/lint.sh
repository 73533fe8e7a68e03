#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-format over everything, clang-tidy over the sources (or those given).
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*.cc' '*.h' | xargs clang-format-14 --dry-run --Werror
cmake --preset lint >/dev/null
files=("$@")
[[ ${#files[@]} -gt 0 ]] || mapfile -t files < <(git ls-files 'src/*.cc' 'apps/*.cc' | grep -v _test.cc)
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build/lint --quiet
# Each header compiles alone: the precompiled one would hide a missing include.
flags=(-std=c++20 -fsyntax-only -DFMT_SHARED -I src -I apps -x c++)
git ls-files 'src/*.h' 'apps/*.h' | xargs -P "$(nproc)" -I{} g++ "${flags[@]}" {}
