// SPDX-License-Identifier: Apache-2.0
#include "loam/store_listing.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "loam/json_text.h"
#include "loam/store_path.h"

namespace loam::cli {

namespace {

std::string list_url(const std::string& prefix, bool delimiter, int limit,
                     const std::string& after = "", const std::string& token = "") {
  std::string url =
      fmt::format("/v1/store?prefix={}&limit={}", percent_encode(prefix, false), limit);
  if (delimiter) url += "&delimiter=1";
  if (!after.empty()) url += "&after=" + percent_encode(after, false);
  if (!token.empty()) url += "&token=" + percent_encode(token, false);
  return url;
}

StoreObject object_from(const Json& json) {
  return {text_of(json, "path"), whole_of(json, "size"), text_of(json, "modified")};
}

std::string as_prefix(const std::string& directory) {
  return directory.ends_with('/') ? directory : directory + "/";
}

}  // namespace

Result<StoreListing> list_directory(const ApiClient& client, const std::string& directory,
                                    bool recursive) {
  StoreListing out;
  std::string after;
  std::string token;
  do {
    const Json page =
        TRY(client.get(list_url(as_prefix(directory), !recursive, 1'000, after, token)));
    for (const Json& object : member_of(page, "objects"))
      out.objects.push_back(object_from(object));
    for (const Json& below : member_of(page, "prefixes")) {
      if (below.is_string()) out.directories.push_back(below.get<std::string>());
    }
    if (out.objects.size() + out.directories.size() > kMaxListedObjects) {
      return fail(ErrorCode::kTooLarge,
                  fmt::format("{} holds over {} objects; take its parts one by one",
                              store_text(directory), kMaxListedObjects));
    }
    after = text_of(page, "next_after");
    token = text_of(page, "next_token");
  } while (!after.empty());
  return out;
}

Result<std::optional<StoreObject>> find_object(const ApiClient& client, const std::string& path) {
  // An exact match sorts before everything that begins with it.
  const Json page = TRY(client.get(list_url(path, false, 1)));
  for (const Json& object : member_of(page, "objects")) {
    if (text_of(object, "path") == path) return std::optional(object_from(object));
  }
  return std::optional<StoreObject>();
}

Result<bool> is_store_directory(const ApiClient& client, const std::string& path) {
  if (path == "/") return true;
  const Json page = TRY(client.get(list_url(as_prefix(path), false, 1)));
  return !member_of(page, "objects").empty();
}

std::string object_url(const std::string& path) {
  return "/v1/store" + percent_encode(path, true);
}

}  // namespace loam::cli
