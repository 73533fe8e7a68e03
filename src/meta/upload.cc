// SPDX-License-Identifier: Apache-2.0
#include "meta/upload.h"

#include <fmt/format.h>

#include "meta/content.h"
#include "meta/object.h"
#include "meta/object_key.h"

namespace loam::meta {

namespace {

Result<Object> get_staged(Operation& op, const NodeRef& ref, const ObjectId& id) {
  TRY_VOID(check_session(op, ref));
  Object object = TRY(get_object(op.session, id));
  if (object.state == ObjectState::kStaged || object.state == ObjectState::kStored) return object;
  return fail(ErrorCode::kConflict, fmt::format("object {} is not to be stored", to_string(id)));
}

// One whose bytes may be on their way to the store.
Result<Object> get_uploading(Operation& op, const NodeRef& ref, const ObjectId& id) {
  const Object object = TRY(get_object(op.session, id));
  if (!is_reserved_by(object, ref)) return get_staged(op, ref, id);
  TRY_VOID(check_session(op, ref));
  return object;
}

}  // namespace

Result<std::string> start_direct_upload(Operation& op, const NodeRef& ref, const ObjectId& id,
                                        std::string_view path) {
  const Object object = TRY(get_uploading(op, ref, id));
  if (object.state != ObjectState::kWriting) {
    return fail(ErrorCode::kConflict, fmt::format("object {} is committed", to_string(id)));
  }
  return assign_key(op, object, path);
}

Result<std::string> start_upload(Operation& op, const NodeRef& ref, const ObjectId& id) {
  return assign_key(op, TRY(get_staged(op, ref, id)));
}

Result<std::string> avoid_plain_key(Operation& op, const NodeRef& ref, const ObjectId& id) {
  const Object object = TRY(get_uploading(op, ref, id));
  if (object.state == ObjectState::kStored) {
    return fail(ErrorCode::kConflict, fmt::format("object {} is stored already", to_string(id)));
  }
  return assign_own_key(op, object);
}

Status finish_upload(Operation& op, const NodeRef& ref, const ObjectId& id,
                     const std::optional<std::string>& etag) {
  const Object object = TRY(get_staged(op, ref, id));
  if (object.state == ObjectState::kStored) return {};
  if (!object.key) {
    return fail(ErrorCode::kConflict, fmt::format("object {} has no key yet", to_string(id)));
  }
  TRY(op.session.exec("UPDATE object SET state = 3, etag = ? WHERE number = ?", etag, id.number));
  TRY(op.session.exec("DELETE FROM holder WHERE object = ?", id.number));
  return settle_versions(op, object.inode);
}

}  // namespace loam::meta
