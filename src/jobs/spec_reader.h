// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace loam::jobs {

// Reads one object of a job file and keeps its path for messages. The first problem wins: after it
// every getter returns its fallback, and status() says what it was.
class SpecReader {
 public:
  SpecReader(const Json& object, std::string path);

  // Refuses keys outside `known`; those in `later` as not yet implemented.
  void allow(std::initializer_list<std::string_view> known,
             std::initializer_list<std::string_view> later = {});

  bool has(std::string_view key) const;
  std::string text(std::string_view key, std::string fallback = "");
  std::string required_text(std::string_view key);
  // One of `choices`.
  std::string choice(std::string_view key, std::initializer_list<std::string_view> choices,
                     std::string fallback);
  // A number, or the text of one, as a YAML file's "0.40" is.
  std::int64_t whole(std::string_view key, std::int64_t fallback, std::int64_t least,
                     std::int64_t most);
  double number(std::string_view key, double fallback, double least, double most);
  // A number of seconds (or "90s", "5m", "2h") as milliseconds.
  std::int64_t seconds_as_ms(std::string_view key, std::int64_t fallback_ms, std::int64_t least_ms,
                             std::int64_t most_ms);
  std::vector<std::string> texts(std::string_view key, std::size_t most);
  // Values may be strings, numbers or booleans; all become text.
  std::map<std::string, std::string> text_map(std::string_view key, std::size_t most);
  // Calls `read` for the object at `key`, if there is one.
  void object(std::string_view key, const std::function<void(SpecReader&)>& read);
  void objects(std::string_view key, std::size_t most,
               const std::function<void(SpecReader&)>& read);

  void refuse(ErrorCode code, std::string_view key, std::string_view problem);
  void check(std::string_view key, const Status& status);
  const Status& status() const { return status_; }

 private:
  std::string name(std::string_view key) const;
  const Json* find(std::string_view key) const;
  void nested(const Json& value, const std::string& path,
              const std::function<void(SpecReader&)>& read);

  const Json& object_;
  std::string path_;
  Status status_;
};

// "30", "2.5s", "500ms", "5m", "2h" as milliseconds; a bare number is seconds.
Result<std::int64_t> parse_duration_ms(std::string_view text);

}  // namespace loam::jobs
