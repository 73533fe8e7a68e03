// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loam::net {

// Header names compare without regard to case; order and repetition are kept.
class Headers {
 public:
  void add(std::string name, std::string value);
  void set(std::string_view name, std::string value);
  // The first value, if any.
  std::optional<std::string> get(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

// A request as a handler sees it. `path` and the values of `params` are percent-decoded (none holds
// a NUL byte); `query` too, in order of appearance, with '+' for a space as in forms.
struct HttpRequest {
  std::string method;
  std::string target;  // as sent
  std::string path;
  // From the route's {names}; "{name...}" takes the rest.
  std::map<std::string, std::string> params;
  std::vector<std::pair<std::string, std::string>> query;
  Headers headers;
  std::string body;  // empty on routes that stream it
  std::string peer;  // address of the client, for logs

  std::optional<std::string> query_value(std::string_view name) const;
  // The token of "Authorization: Bearer …", if there is one.
  std::optional<std::string> bearer() const;
};

struct HttpResponse {
  int status = 200;
  Headers headers;
  std::string body;
};

}  // namespace loam::net
