// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "io/file.h"

namespace loam::cli {

// A file under a temporary name beside its place, which is removed unless it was kept.
class PartialFile {
 public:
  explicit PartialFile(std::string target);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  Status open();
  Status write(std::span<const std::byte> bytes);
  std::int64_t length() const { return length_; }
  // Renames it into place, with this time of modification if one is given.
  Status keep(std::optional<std::int64_t> modified_ms = std::nullopt);

 private:
  std::string target_;
  std::string path_;
  io::Fd fd_;
  std::int64_t length_ = 0;
};

}  // namespace loam::cli
