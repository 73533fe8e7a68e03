// SPDX-License-Identifier: Apache-2.0
#include "loam/sse.h"

#include <utility>

namespace loam::cli {

Status SseParser::feed(std::string_view bytes,
                       const std::function<Status(const SseEvent&)>& on_event) {
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + data_.size() > kMaxSseEventBytes) {
      return fail(ErrorCode::kTooLarge, "the server sent an event that is too large");
    }
    if (end == std::string_view::npos) return {};
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    TRY_VOID(take_line(on_event));
  }
  return {};
}

Status SseParser::take_line(const std::function<Status(const SseEvent&)>& on_event) {
  std::string line = std::exchange(line_, {});
  if (std::exchange(first_line_, false) && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
  if (line.empty()) {
    SseEvent event{last_id_, std::exchange(type_, {}), std::exchange(data_, {})};
    if (event.data.empty()) return {};
    event.data.pop_back();  // the line break after the last "data" line
    if (event.type.empty()) event.type = "message";
    return on_event(event);
  }
  const std::size_t colon = line.find(':');
  if (colon == 0) return {};  // a comment, which keeps the connection alive
  const std::string_view all(line);
  std::string_view value = colon == std::string::npos ? std::string_view() : all.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(all.substr(0, colon), value);
  return {};
}

void SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "event") type_ = value;
  if (name == "data") data_.append(value).push_back('\n');
  if (name == "id" && value.find('\0') == std::string_view::npos) last_id_ = value;
}

}  // namespace loam::cli
