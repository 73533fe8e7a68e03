// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace loam::io {

// A fresh directory under TMPDIR (else /tmp), removed with all that is in it on destruction. For
// tests and scratch space of one process; aborts if none can be made.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace loam::io
