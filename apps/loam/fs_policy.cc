// SPDX-License-Identifier: Apache-2.0
#include "loam/fs_policy.h"

#include "base/units.h"
#include "loam/exit_code.h"
#include "loam/fs_client.h"
#include "loam/json_text.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

std::string limit_text(const Json& rules, const char* key, bool bytes) {
  if (member_of(rules, key).is_null()) return "none";
  const std::int64_t value = whole_of(rules, key);
  return bytes ? format_bytes(value) : std::to_string(value);
}

std::string yes_no(const Json& rules, const char* key) {
  return member_of(rules, key) == Json(true) ? "yes" : "no";
}

}  // namespace

Result<int> run_policy(const ClientFlags& flags, const std::string& path, const Json& change,
                       bool json) {
  const std::string url = fs_url("policy", TRY(parse_fs_path(path)).path);
  const ApiClient client = TRY(ApiClient::open(flags));
  const Json rules =
      TRY(change.empty() ? client.get(url)
                         : client.call("PUT", url, change, {.repeat = Repeat::kSafe}));
  if (json) {
    print_json(rules);
    return kExitOk;
  }
  print("durability  {}\n", text_of(rules, "durability"));
  print("sealed      {}\n", yes_no(rules, "sealed"));
  print("shared      {}\n", yes_no(rules, "shared"));
  print("max bytes   {}\n", limit_text(rules, "max_bytes", true));
  print("max files   {}\n", limit_text(rules, "max_files", false));
  return kExitOk;
}

}  // namespace loam::cli
