// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace loam::cli {

struct SseEvent {
  std::string id;  // of the last event that had one
  std::string type = "message";
  std::string data;
};

inline constexpr std::size_t kMaxSseEventBytes = 8 << 20;

// Server-sent events (WHATWG HTML, 9.2.6) from bytes that arrive in pieces. One stream per object.
class SseParser {
 public:
  // Calls `on_event` for every event that is complete now, and stops at its first error. An event
  // over kMaxSseEventBytes is kTooLarge.
  Status feed(std::string_view bytes, const std::function<Status(const SseEvent&)>& on_event);
  const std::string& last_id() const { return last_id_; }

 private:
  Status take_line(const std::function<Status(const SseEvent&)>& on_event);
  void take_field(std::string_view name, std::string_view value);

  std::string line_;
  std::string type_;
  std::string data_;
  std::string last_id_;
  bool after_cr_ = false;  // a '\n' now belongs to the line end before
  bool first_line_ = true;
};

}  // namespace loam::cli
