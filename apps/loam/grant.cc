// SPDX-License-Identifier: Apache-2.0
#include "loam/grant.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "loam/json_text.h"
#include "loam/store_path.h"

namespace loam::cli {

Result<Json> parse_grant(const std::string& text) {
  std::string path = text;
  bool write = false;
  // The right is what follows the last ':', unless a path goes on there ("store:/a").
  const std::size_t colon = path.rfind(':');
  if (colon != std::string::npos && path.find('/', colon) == std::string::npos) {
    const std::string right = path.substr(colon + 1);
    if (right != "r" && right != "rw") {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("--grant {}: '{}' is no right; write PREFIX to read, PREFIX:rw to read "
                      "and write",
                      printable(text), printable(right)));
    }
    write = right == "rw";
    path.resize(colon);
  }
  const CopyEnd parsed = TRY(parse_store_path(path));
  return Json{{"prefix", parsed.path}, {"write", write}};
}

std::string grants_text(const Json& grants) {
  std::string out;
  for (const Json& grant : grants) {
    if (!out.empty()) out += ", ";
    out += text_of(grant, "prefix");
    if (text_of(grant, "write") == "true") out += ":rw";
  }
  return out;
}

}  // namespace loam::cli
