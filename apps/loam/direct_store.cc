// SPDX-License-Identifier: Apache-2.0
#include "loam/direct_store.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "object/dir_store.h"
#include "object/s3_options.h"
#include "object/store_url.h"

namespace loam::cli {

namespace {

constexpr std::string_view kS3 = "s3://";
constexpr std::string_view kDirectory = "dir:";

// "endpoint=…&region=…" and nothing else.
bool all_options(std::string_view pairs) {
  while (!pairs.empty()) {
    const std::string_view pair = pairs.substr(0, pairs.find('&'));
    if (!object::is_s3_option(pair.substr(0, pair.find('=')))) return false;
    pairs.remove_prefix(std::min(pairs.size(), pair.size() + 1));
  }
  return true;
}

CopyEnd place_of(std::string_view key) {
  CopyEnd out{.in_store = true, .path = "/" + std::string(key), .slash = key.empty()};
  while (out.path.size() > 1 && out.path.ends_with('/')) {
    out.path.pop_back();
    out.slash = true;
  }
  return out;
}

Result<DirectEnd> parse_s3_end(std::string_view text) {
  std::string_view rest = text.substr(kS3.size());
  std::string options;
  const std::size_t question = rest.rfind('?');
  if (question != std::string_view::npos && all_options(rest.substr(question + 1))) {
    options = rest.substr(question);
    rest = rest.substr(0, question);
  }
  const std::string_view bucket = rest.substr(0, rest.find('/'));
  DirectEnd out;
  out.root = fmt::format("{}{}", kS3, bucket);
  out.url = out.root + options;
  // Says what is wrong with the bucket or the options before anything is done.
  TRY(object::parse_s3_url(out.url, object::process_environment()));
  out.place = place_of(rest.substr(std::min(rest.size(), bucket.size() + 1)));
  return out;
}

// A key looks like a part of its store's path, so the store is looked for from the end.
Result<DirectEnd> parse_directory_end(std::string_view text) {
  const std::string_view path = text.substr(kDirectory.size());
  for (std::size_t end = path.size(); end > 0 && end != std::string_view::npos;
       end = path.rfind('/', end - 1)) {
    const std::string_view root = path.substr(0, end);
    if (!object::is_dir_store(std::string(root))) continue;
    DirectEnd out;
    out.root = fmt::format("{}{}", kDirectory, root);
    out.url = out.root;
    out.place = place_of(path.substr(std::min(path.size(), end + 1)));
    return out;
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("there is no store at or above {}; 'loam server --store' makes one",
                          printable(text)));
}

}  // namespace

bool is_s3(std::string_view text) {
  return text.starts_with(kS3);
}

bool is_direct(std::string_view text) {
  return is_s3(text) || text.starts_with(kDirectory);
}

std::string DirectEnd::prefix() const {
  return place.path == "/" ? "" : key() + "/";
}

std::string DirectEnd::text(std::string_view of) const {
  return fmt::format("{}/{}", root, of);
}

Result<DirectEnd> parse_direct(std::string_view text) {
  return is_s3(text) ? parse_s3_end(text) : parse_directory_end(text);
}

Result<AnyEnd> parse_any_end(std::string_view text) {
  AnyEnd out;
  out.text = text;
  if (is_direct(text)) {
    out.direct = TRY(parse_direct(text));
    out.place = out.direct->place;
    return out;
  }
  out.place = TRY(parse_copy_end(text));
  if (out.place.in_store) {
    return fail(ErrorCode::kInvalidArgument,
                "s3:// or dir: and the server's store: cannot be mixed in one command; go by way "
                "of this machine");
  }
  return out;
}

Result<std::unique_ptr<object::ObjectStore>> open_direct(const DirectEnd& end) {
  return object::open_store(end.url);
}

Result<std::optional<object::ObjectInfo>> find_direct(object::ObjectStore& store,
                                                      const std::string& key) {
  if (key.empty()) return std::nullopt;
  auto info = store.head(key);
  if (info) return *std::move(info);
  if (info.error().code == ErrorCode::kNotFound) return std::nullopt;
  return fail(info.error());
}

Result<bool> is_direct_directory(object::ObjectStore& store, const DirectEnd& end) {
  if (end.place.path == "/") return true;
  object::ListOptions options;
  options.limit = 1;
  return !TRY(store.list(end.prefix(), options)).objects.empty();
}

void set_key(Json& out, const std::string& key) {
  out["key"] = is_valid_utf8(key) ? key : printable(key);
  if (!is_valid_utf8(key)) out["key_b64"] = base64_encode(key);
}

}  // namespace loam::cli
