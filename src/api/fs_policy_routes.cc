// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/fs_body.h"
#include "api/respond.h"
#include "api/routes.h"
#include "control/meta_operation.h"
#include "meta/policy.h"
#include "meta/xattr.h"

namespace loam::api {

namespace {

using control::FsPath;
using control::LastLink;

std::string_view durability_name(meta::Durability durability) {
  switch (durability) {
    case meta::Durability::kLocal:
      return "local";
    case meta::Durability::kReplicated:
      return "replicated";
    case meta::Durability::kStored:
      return "stored";
  }
  return "local";
}

// Nothing for null: that of the directory above holds again.
Result<std::optional<meta::Durability>> parse_durability(const Json& value) {
  if (value.is_null()) return std::optional<meta::Durability>();
  for (const auto one :
       {meta::Durability::kLocal, meta::Durability::kReplicated, meta::Durability::kStored}) {
    if (value.is_string() && value.get<std::string>() == durability_name(one)) {
      return std::optional(one);
    }
  }
  return fail(ErrorCode::kInvalidArgument,
              "'durability' must be 'local', 'replicated', 'stored' or null");
}

Result<Json> policy_json(db::Session& session, std::int64_t directory) {
  TRY(meta::get_directory(session, directory));
  const meta::Policies policies = TRY(meta::get_policies(session, directory));
  const auto quota = TRY(meta::get_quota(session, directory)).value_or(meta::Quota{});
  return Json{{"durability", durability_name(policies.durability)},
              {"sealed", policies.sealed},
              {"shared", policies.shared},
              {"max_bytes", quota.max_bytes ? Json(*quota.max_bytes) : Json()},
              {"max_files", quota.max_files ? Json(*quota.max_files) : Json()}};
}

Result<Json> get_policy(const ApiContext& context, const net::HttpRequest& request) {
  const FsCaller caller = TRY(FsCaller::of(context, request));
  const std::string path = TRY(path_of_query(request));
  return context.services.read([&](db::Session& session) -> Result<Json> {
    const FsPath found = TRY(caller.readable(session, path, LastLink::kFollow));
    return policy_json(session, found.attributes->inode);
  });
}

// A quota is a limit that somebody else sets.
Status set_quota(const FsCaller& caller, meta::Operation& op, std::int64_t directory,
                 const Json& body) {
  if (!body.contains("max_bytes") && !body.contains("max_files")) return {};
  if (!caller.is_admin()) {
    return fail(ErrorCode::kPermissionDenied, "only an admin sets quotas");
  }
  auto quota = TRY(meta::get_quota(op.session, directory)).value_or(meta::Quota{});
  quota.directory = directory;
  if (body.contains("max_bytes")) {
    quota.max_bytes = TRY(whole_number(body, "max_bytes", 0, INT64_MAX));
  }
  if (body.contains("max_files")) {
    quota.max_files = TRY(whole_number(body, "max_files", 0, INT64_MAX));
  }
  return meta::set_quota(op, quota);
}

// Only what the body names changes.
Result<Json> set_policy(const FsCaller& caller, meta::Operation& op, const std::string& path,
                        const Json& body) {
  const FsPath found = TRY(caller.writable(op.session, path, LastLink::kFollow));
  if (!found.attributes) return fail(ErrorCode::kNotFound, "there is no such directory");
  const std::int64_t directory = found.attributes->inode;
  TRY(meta::get_directory(op.session, directory));
  if (body.contains("durability")) {
    TRY_VOID(meta::set_durability(op, directory, TRY(parse_durability(body.at("durability")))));
  }
  if (body.contains("sealed")) {
    TRY_VOID(meta::set_sealed(op, directory, TRY(json_bool(body, "sealed", false))));
  }
  if (body.contains("shared")) {
    TRY_VOID(meta::set_shared(op, directory, TRY(json_bool(body, "shared", false))));
  }
  TRY_VOID(set_quota(caller, op, directory, body));
  return policy_json(op.session, directory);
}

Result<Json> get_xattrs(const ApiContext& context, const net::HttpRequest& request) {
  const FsCaller caller = TRY(FsCaller::of(context, request));
  const std::string path = TRY(path_of_query(request));
  const auto name = request.query_value("name");
  return context.services.read([&](db::Session& session) -> Result<Json> {
    const FsPath found = TRY(caller.readable(session, path, LastLink::kFollow));
    const std::int64_t inode = found.attributes->inode;
    Json out = Json::array();
    const auto names = name ? std::vector{*name} : TRY(meta::list_xattrs(session, inode));
    for (const std::string& one : names) {
      Json attribute = Json::object();
      put_bytes(attribute, "name", one);
      put_bytes(attribute, "value", TRY(meta::get_xattr(session, inode, one)));
      out.push_back(std::move(attribute));
    }
    return Json{{"xattrs", std::move(out)}};
  });
}

Result<std::int64_t> writable_inode(const FsCaller& caller, meta::Operation& op,
                                    const std::string& path) {
  const FsPath found = TRY(caller.writable(op.session, path, LastLink::kFollow));
  if (found.attributes) return found.attributes->inode;
  return fail(ErrorCode::kNotFound, "there is no such entry");
}

Result<meta::XattrMode> xattr_mode(const Json& body) {
  const std::string mode = TRY(json_string(body, "mode", "any"));
  if (mode == "any") return meta::XattrMode::kAny;
  if (mode == "create") return meta::XattrMode::kCreate;
  if (mode == "replace") return meta::XattrMode::kReplace;
  return fail(ErrorCode::kInvalidArgument, "'mode' must be 'any', 'create' or 'replace'");
}

Result<WritingCall> put_policy(const ApiContext& context, const net::HttpRequest& request) {
  return WritingCall([caller = TRY(FsCaller::of(context, request)),
                      path = TRY(path_of_query(request)),
                      body = TRY(body_object(request))](jobs::Operation& op) {
    meta::Operation inner = control::meta_operation(op);
    return set_policy(caller, inner, path, body);
  });
}

Result<WritingCall> put_xattr(const ApiContext& context, const net::HttpRequest& request) {
  const Json body = TRY(body_object(request));
  return WritingCall([caller = TRY(FsCaller::of(context, request)),
                      path = TRY(path_of_body(body, "path")), name = TRY(get_bytes(body, "name")),
                      value = TRY(get_bytes(body, "value")),
                      mode = TRY(xattr_mode(body))](jobs::Operation& op) -> Result<Json> {
    meta::Operation inner = control::meta_operation(op);
    const std::int64_t inode = TRY(writable_inode(caller, inner, path));
    TRY_VOID(meta::set_xattr(inner, inode, name, value, mode));
    return Json::object();
  });
}

Result<WritingCall> delete_xattr(const ApiContext& context, const net::HttpRequest& request) {
  const auto name = request.query_value("name");
  if (!name) return fail(ErrorCode::kInvalidArgument, "the query needs 'name'");
  return WritingCall([caller = TRY(FsCaller::of(context, request)),
                      path = TRY(path_of_query(request)),
                      name = *name](jobs::Operation& op) -> Result<Json> {
    meta::Operation inner = control::meta_operation(op);
    const std::int64_t inode = TRY(writable_inode(caller, inner, path));
    TRY_VOID(meta::remove_xattr(inner, inode, name));
    return Json::object();
  });
}

}  // namespace

void add_fs_policy_routes(net::Router& router, const ApiContext& context) {
  const auto add_reading = [&](const char* pattern,
                               Result<Json> (*answer)(const ApiContext&, const net::HttpRequest&)) {
    router.add("GET", pattern, {}, answering(200, [&context, answer](const auto& request) {
                 return answer(context, request);
               }));
  };
  const auto add_writing =
      [&](const char* method, const char* pattern,
          Result<WritingCall> (*call)(const ApiContext&, const net::HttpRequest&)) {
        router.add(
            method, pattern, {},
            [&context, call](const net::HttpRequest& request, const net::ResponderPtr& responder) {
              respond_from_write_soon(context, responder, call(context, request));
            });
      };
  add_reading("/v1/fs/policy", get_policy);
  add_writing("PUT", "/v1/fs/policy", put_policy);
  add_reading("/v1/fs/xattr", get_xattrs);
  add_writing("PUT", "/v1/fs/xattr", put_xattr);
  add_writing("DELETE", "/v1/fs/xattr", delete_xattr);
}

}  // namespace loam::api
