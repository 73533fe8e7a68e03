// SPDX-License-Identifier: Apache-2.0
#include "loam/direct_store.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "object/s3_options.h"
#include "object/store_url.h"

namespace loam::cli {

namespace {

constexpr std::string_view kScheme = "s3://";

// "endpoint=…&region=…" and nothing else.
bool all_options(std::string_view pairs) {
  while (!pairs.empty()) {
    const std::string_view pair = pairs.substr(0, pairs.find('&'));
    if (!object::is_s3_option(pair.substr(0, pair.find('=')))) return false;
    pairs.remove_prefix(std::min(pairs.size(), pair.size() + 1));
  }
  return true;
}

}  // namespace

bool is_direct(std::string_view text) {
  return text.starts_with(kScheme);
}

std::string DirectEnd::prefix() const {
  return place.path == "/" ? "" : key() + "/";
}

std::string DirectEnd::text(std::string_view of) const {
  return fmt::format("{}{}/{}", kScheme, bucket, of);
}

Result<DirectEnd> parse_direct(std::string_view text) {
  std::string_view rest = text.substr(kScheme.size());
  std::string options;
  const std::size_t question = rest.rfind('?');
  if (question != std::string_view::npos && all_options(rest.substr(question + 1))) {
    options = rest.substr(question);
    rest = rest.substr(0, question);
  }
  DirectEnd out;
  out.bucket = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(rest.size(), out.bucket.size() + 1));
  out.url = fmt::format("{}{}{}", kScheme, out.bucket, options);
  out.place = {.in_store = true, .path = "/" + std::string(rest), .slash = rest.empty()};
  while (out.place.path.size() > 1 && out.place.path.ends_with('/')) {
    out.place.path.pop_back();
    out.place.slash = true;
  }
  // Says what is wrong with the bucket or the options before anything is done.
  TRY(object::parse_s3_url(out.url, object::process_environment()));
  return out;
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
                "s3:// and the server's store: cannot be mixed in one command; go by way of this "
                "machine");
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
