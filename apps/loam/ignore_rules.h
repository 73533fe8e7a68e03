// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace loam::cli {

// What a .loamignore file leaves out of a work directory. One pattern a line, as in .gitignore:
//
//   # a comment; blank lines are skipped
//   *.pyc          a name, at any depth; '*', '?' and '[a-z]' stay within one name
//   data/          directories only
//   /notes.txt     with a '/' at the start or inside: the path from the work directory
//   logs/**/raw    '**' is any number of directories
//
// Negation ("!name") is refused: a file that may still say no is what makes such lists hard to
// read.
class IgnoreRules {
 public:
  // kInvalidArgument names the line. At most 1,000 patterns of 1,024 bytes.
  static Result<IgnoreRules> parse(std::string_view text);

  // `path` is relative to the work directory, without a trailing '/'. What lies below an ignored
  // directory is ignored with it; callers do not descend.
  bool ignores(std::string_view path, bool is_directory) const;

 private:
  struct Rule {
    std::vector<std::string> segments;
    bool anchored = false;
    bool directory_only = false;
  };
  static Result<Rule> parse_rule(std::string_view pattern);

  std::vector<Rule> rules_;
};

}  // namespace loam::cli
