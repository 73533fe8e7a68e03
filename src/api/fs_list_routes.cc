// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "api/fs_body.h"
#include "api/respond.h"
#include "api/routes.h"
#include "control/meta_operation.h"
#include "meta/find.h"
#include "meta/readdir.h"
#include "meta/statfs.h"
#include "meta/usage.h"

namespace loam::api {

namespace {

using control::FsPath;
using control::LastLink;

constexpr std::int64_t kMaxAgeS = std::int64_t{1} << 33;

Result<Json> list(const ApiContext& context, const net::HttpRequest& request) {
  const FsCaller caller = TRY(FsCaller::of(context, request));
  const std::string path = TRY(path_of_query(request));
  const std::int64_t cookie = TRY(query_int(request, "cookie", 0, 0, INT64_MAX));
  const std::int64_t limit = TRY(query_int(request, "limit", 1'000, 1, meta::kMaxListedEntries));
  return context.services.read([&](db::Session& session) -> Result<Json> {
    const FsPath directory = TRY(caller.readable(session, path, LastLink::kFollow));
    const auto entries = TRY(meta::readdir(session, directory.attributes->inode, cookie, limit));
    Json out = Json::array();
    for (const meta::ListedEntry& entry : entries) {
      Json one = TRY(entry_json(session, entry.attributes));
      put_bytes(one, "name", entry.name);
      one["cookie"] = entry.cookie;
      out.push_back(std::move(one));
    }
    const bool more = static_cast<std::int64_t>(entries.size()) == limit;
    return Json{{"entries", std::move(out)},
                {"next_cookie", more ? Json(entries.back().cookie) : Json()}};
  });
}

Result<Json> usage(db::Session& session, const FsCaller& caller, const std::string& path) {
  const FsPath found = TRY(caller.readable(session, path, LastLink::kKeep));
  meta::Usage used{found.attributes->size, 1};
  if (found.attributes->is_directory()) {
    used = TRY(meta::disk_usage(session, found.attributes->inode));
  }
  return Json{{"bytes", used.bytes}, {"files", used.files}};
}

Result<Json> du(const ApiContext& context, const net::HttpRequest& request) {
  const FsCaller caller = TRY(FsCaller::of(context, request));
  const std::string path = TRY(path_of_query(request));
  if (!TRY(query_flag(request, "exact"))) {
    return context.services.read(
        [&](db::Session& session) { return usage(session, caller, path); });
  }
  return control::write_meta(context.services, [&](meta::Operation& op) -> Result<Json> {
    TRY(usage(op.session, caller, path));
    TRY_VOID(meta::fold_all_usage(op));
    return usage(op.session, caller, path);
  });
}

Json or_null(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json();
}

Result<Json> df(const ApiContext& context, const net::HttpRequest& request) {
  const FsCaller caller = TRY(FsCaller::of(context, request));
  const std::string path = TRY(path_of_query(request));
  return context.services.read([&](db::Session& session) -> Result<Json> {
    const FsPath found = TRY(caller.readable(session, path, LastLink::kFollow));
    const meta::Space space = TRY(meta::statfs(
        session, found.attributes->is_directory() ? found.attributes->inode : found.place.parent));
    return Json{{"used_bytes", space.used.bytes},
                {"used_files", space.used.files},
                {"bytes_left", or_null(space.bytes_left)},
                {"files_left", or_null(space.files_left)}};
  });
}

// "<size class>.<mtime>.<size>.<inode>"
std::string position_text(const meta::FindPosition& at) {
  return fmt::format("{}.{}.{}.{}", at.size_class, at.mtime_ns, at.size, at.inode);
}

Result<meta::FindPosition> parse_position(const std::string& text) {
  std::array<std::int64_t, 4> numbers{};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto [rest, error] = std::from_chars(at, end, numbers.at(i));
    const bool last = i + 1 == numbers.size();
    if (error != std::errc() || (last ? rest != end : rest == end || *rest != '.')) {
      return fail(ErrorCode::kInvalidArgument, "'after' must be the 'next' of an answer");
    }
    at = last ? rest : rest + 1;
  }
  return meta::FindPosition{numbers[0], numbers[1], numbers[2], numbers[3]};
}

Result<meta::FindQuery> find_query(const ApiContext& context, const net::HttpRequest& request) {
  meta::FindQuery query;
  const std::int64_t age_s = TRY(query_int(request, "older_than_s", 0, 0, kMaxAgeS));
  if (age_s > 0) {
    query.max_mtime_ns = (context.services.clock.wall_ms() / 1'000 - age_s) * 1'000'000'000;
  }
  query.min_size = TRY(query_int(request, "larger_than", 0, 0, INT64_MAX - 1));
  if (request.query_value("larger_than")) ++query.min_size;
  query.limit = TRY(query_int(request, "limit", 1'000, 1, 10'000));
  if (const auto after = request.query_value("after")) query.after = TRY(parse_position(*after));
  return query;
}

Result<Json> find(const ApiContext& context, const net::HttpRequest& request) {
  const FsCaller caller = TRY(FsCaller::of(context, request));
  const std::string path = TRY(path_of_query(request));
  meta::FindQuery query = TRY(find_query(context, request));
  return context.services.read([&](db::Session& session) -> Result<Json> {
    const FsPath directory = TRY(caller.readable(session, path, LastLink::kFollow));
    query.directory = directory.attributes->inode;
    const meta::FindAnswer answer = TRY(meta::find_files(session, query));
    Json hits = Json::array();
    for (const meta::FindAnswer::Hit& hit : answer.hits)
      hits.push_back(TRY(entry_json(session, hit.path, hit.attributes)));
    return Json{{"hits", std::move(hits)},
                {"next", answer.next ? Json(position_text(*answer.next)) : Json()}};
  });
}

}  // namespace

void add_fs_list_routes(net::Router& router, const ApiContext& context) {
  const auto add = [&](const char* pattern,
                       Result<Json> (*answer)(const ApiContext&, const net::HttpRequest&)) {
    router.add("GET", pattern, {}, answering(200, [&context, answer](const auto& request) {
                 return answer(context, request);
               }));
  };
  add("/v1/fs/list", list);
  add("/v1/fs/du", du);
  add("/v1/fs/df", df);
  add("/v1/fs/find", find);
}

}  // namespace loam::api
