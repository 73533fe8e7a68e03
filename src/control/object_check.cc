// SPDX-License-Identifier: Apache-2.0
#include "control/object_check.h"

#include <fmt/format.h>

#include "base/parallel.h"
#include "meta/ancestry.h"
#include "meta/object.h"

namespace loam::control {

namespace {

constexpr std::size_t kThreads = 16;

// What is wrong with one; "" if nothing is.
Result<std::string> look_at(object::ObjectStore& store, const meta::Object& object) {
  const auto info = store.head(object.key.value_or(""));
  if (!info && info.error().code == ErrorCode::kNotFound) {
    return fmt::format("the store has lost {}", *object.key);
  }
  if (!info) return fail(info.error());
  if (info->size != object.length) {
    return fmt::format("{} has {} bytes in the store, not {}", *object.key, info->size,
                       object.length);
  }
  if (object.etag && info->etag != *object.etag) {
    return fmt::format("{} is another version in the store", *object.key);
  }
  return std::string();
}

// Its problem for each object, in the same order.
Result<std::vector<std::string>> look_at_all(object::ObjectStore& store,
                                             const std::vector<meta::Object>& objects) {
  std::vector<std::string> out(objects.size());
  TRY_VOID(run_parallel(objects.size(), kThreads, [&](std::size_t i) -> Status {
    out[i] = TRY(look_at(store, objects[i]));
    return {};
  }));
  return out;
}

Result<std::string> path_of(const Services& services, const meta::Object& object) {
  auto path =
      services.read([&](db::Session& session) { return meta::path_of(session, object.inode); });
  if (!path && path.error().code == ErrorCode::kNotFound) return std::string();
  return path;
}

}  // namespace

Result<ObjectCheck> check_objects(const Services& services, std::int64_t after,
                                  std::int64_t limit) {
  const auto objects = TRY(services.read(
      [&](db::Session& session) { return meta::list_stored(session, after, limit); }));
  const std::vector<std::string> problems = TRY(look_at_all(services.store, objects));
  ObjectCheck out;
  out.checked = static_cast<std::int64_t>(objects.size());
  if (out.checked == limit) out.next = objects.back().id.number;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (problems[i].empty()) continue;
    // What is no longer needed meanwhile may be gone.
    const auto now = TRY(services.read([&](db::Session& session) {
      return meta::list_stored(session, objects[i].id.number - 1, 1);
    }));
    if (now.empty() || now.front().id != objects[i].id) continue;
    out.problems.push_back(
        {TRY(path_of(services, objects[i])), meta::to_string(objects[i].id), problems[i]});
  }
  return out;
}

}  // namespace loam::control
