// SPDX-License-Identifier: Apache-2.0
#include "meta/object_key.h"

#include <fmt/format.h>

#include "base/encoding.h"
#include "meta/ancestry.h"
#include "meta/inode.h"
#include "meta/object.h"

namespace loam::meta {

namespace {

constexpr std::size_t kMaxKeyBytes = 1024;  // S3's bound

// The path as a key, if it can be one.
Result<std::optional<std::string>> plain_key(Operation& op, std::string_view path) {
  std::string key(path.substr(1));
  if (key.size() > kMaxKeyBytes || !is_valid_utf8(key)) return std::optional<std::string>();
  if (!TRY(is_key_free(op.session, key))) return std::optional<std::string>();
  return std::optional<std::string>(std::move(key));
}

}  // namespace

std::string own_key(const ObjectId& id) {
  const std::string text = to_string(id);
  return fmt::format(".loam/objects/{}/{}", text.substr(text.size() - 2), text);
}

std::optional<std::string> key_from_row(const ObjectId& id, std::int64_t keyed,
                                        std::optional<std::string> key) {
  if (keyed == 0) return std::nullopt;
  return keyed == 1 ? std::move(key) : own_key(id);
}

Result<bool> is_key_free(db::Session& session, std::string_view key) {
  for (std::size_t end = key.find('/'); end != std::string_view::npos;
       end = key.find('/', end + 1)) {
    if (TRY(session.row("SELECT 1 FROM object WHERE key = ?", key.substr(0, end)))) return false;
  }
  if (TRY(session.row("SELECT 1 FROM object WHERE key = ?", key))) return false;
  // '0' follows '/': all that begins with "key/" is between the two.
  const auto below = TRY(session.row("SELECT 1 FROM object WHERE key > ? AND key < ? LIMIT 1",
                                     std::string(key) + "/", std::string(key) + "0"));
  return !below.has_value();
}

Result<std::string> assign_key(Operation& op, const Object& object) {
  if (object.key) return *object.key;
  const Attributes file = TRY(getattr(op.session, object.inode));
  if (file.nlink == 0) return assign_own_key(op, object);
  return assign_key(op, object, TRY(path_of(op.session, object.inode)));
}

Result<std::string> assign_key(Operation& op, const Object& object, std::string_view path) {
  if (object.key) return *object.key;
  auto key = TRY(plain_key(op, path));
  if (!key) return assign_own_key(op, object);
  TRY(op.session.exec("UPDATE object SET keyed = 1, key = ? WHERE number = ?", *key,
                      object.id.number));
  return std::move(*key);
}

Result<std::string> assign_own_key(Operation& op, const Object& object) {
  TRY(op.session.exec("UPDATE object SET keyed = 2, key = NULL WHERE number = ?",
                      object.id.number));
  return own_key(object.id);
}

}  // namespace loam::meta
