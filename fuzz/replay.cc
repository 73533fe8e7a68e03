// SPDX-License-Identifier: Apache-2.0
// Runs each file of corpus/<target>/ through its target, so that builds without clang keep what the
// fuzzers found. A target that does not hold aborts; the name before that is the input's.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/log.h"
#include "fuzz/targets.h"

namespace {

namespace fs = std::filesystem;

int run_all(const fs::path& corpus) {
  for (const loam::fuzz::Target& target : loam::fuzz::targets()) {
    std::vector<fs::path> inputs;
    for (const auto& entry : fs::directory_iterator(corpus / target.name)) {
      if (entry.is_regular_file()) inputs.push_back(entry.path());
    }
    std::sort(inputs.begin(), inputs.end());
    if (inputs.empty()) {
      std::fprintf(stderr, "%s holds no inputs\n", (corpus / target.name).c_str());
      return 1;
    }
    // Every target takes nothing at all.
    target.run({});
    for (const fs::path& path : inputs) {
      std::ifstream file(path, std::ios::binary);
      const std::string input{std::istreambuf_iterator<char>(file), {}};
      std::printf("%s\n", path.c_str());
      std::fflush(stdout);
      target.run(input);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY\n", argv[0]);
    return 2;
  }
  loam::log_setup({.level = loam::LogLevel::kError});
  return run_all(argv[1]);
}
