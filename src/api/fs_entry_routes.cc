// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/fs_operation.h"
#include "api/respond.h"
#include "api/routes.h"
#include "control/meta_operation.h"
#include "net/status.h"

namespace loam::api {

namespace {

constexpr std::size_t kMaxBatch = 1'000;
constexpr std::int64_t kMaxBatchBytes = 8 << 20;

Result<Json> stat(const ApiContext& context, const net::HttpRequest& request) {
  const FsCaller caller = TRY(FsCaller::of(context, request));
  const std::string path = TRY(path_of_query(request));
  const auto last =
      TRY(query_flag(request, "follow")) ? control::LastLink::kFollow : control::LastLink::kKeep;
  return context.services.read([&](db::Session& session) -> Result<Json> {
    const control::FsPath found = TRY(caller.readable(session, path, last));
    return entry_json(session, found.path, *found.attributes);
  });
}

Result<WritingCall> one_operation(const ApiContext& context, const net::HttpRequest& request,
                                  FsOperation operation) {
  return WritingCall([caller = TRY(FsCaller::of(context, request)),
                      body = TRY(body_object(request)),
                      operation](jobs::Operation& op) -> Result<Json> {
    meta::Operation inner = control::meta_operation(op);
    return operation(caller, inner, body);
  });
}

// A failure that is the database's and not the operation's own.
bool ends_all(ErrorCode code) {
  return code == ErrorCode::kInternal || code == ErrorCode::kUnavailable;
}

Result<Json> perform(const FsCaller& caller, meta::Operation& op, const Json& wanted) {
  if (!wanted.is_object()) return fail(ErrorCode::kInvalidArgument, "an operation is an object");
  const std::string name = TRY(json_string(wanted, "op"));
  const FsOperation operation = find_fs_operation(name);
  if (operation == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                "'op' must be stat, mkdir, symlink, link, rename, remove or setattr");
  }
  return operation(caller, op, wanted);
}

// Each on its own: one that fails leaves no trace and does not hinder the others.
Result<Json> perform_all(const FsCaller& caller, meta::Operation& op, const Json& operations) {
  Json results = Json::array();
  for (const Json& wanted : operations) {
    TRY(op.session.exec("SAVEPOINT one"));
    auto result = perform(caller, op, wanted);
    if (!result && ends_all(result.error().code)) return fail(std::move(result).error());
    if (!result) TRY(op.session.exec("ROLLBACK TO one"));
    TRY(op.session.exec("RELEASE one"));
    results.push_back(result ? std::move(*result) : net::error_json(result.error()));
  }
  return Json{{"results", std::move(results)}};
}

Result<WritingCall> batch(const ApiContext& context, const net::HttpRequest& request) {
  const FsCaller caller = TRY(FsCaller::of(context, request));
  const Json body = TRY(body_object(request));
  const Json operations = body.value("operations", Json());
  if (!operations.is_array()) {
    return fail(ErrorCode::kInvalidArgument, "'operations' must be a list");
  }
  if (operations.size() > kMaxBatch) {
    return fail(ErrorCode::kTooLarge, fmt::format("a batch has at most {} operations", kMaxBatch));
  }
  return WritingCall([caller, operations](jobs::Operation& op) -> Result<Json> {
    meta::Operation inner = control::meta_operation(op);
    return perform_all(caller, inner, operations);
  });
}

}  // namespace

void add_fs_entry_routes(net::Router& router, const ApiContext& context) {
  router.add("GET", "/v1/fs/stat", {},
             answering(200, [&context](const auto& request) { return stat(context, request); }));
  for (const char* name : {"mkdir", "symlink", "link", "rename", "remove", "setattr"}) {
    router.add("POST", fmt::format("/v1/fs/{}", name), {},
               [&context, operation = find_fs_operation(name)](const net::HttpRequest& request,
                                                               const net::ResponderPtr& responder) {
                 respond_from_write_soon(context, responder,
                                         one_operation(context, request, operation));
               });
  }
  router.add("POST", "/v1/fs/batch", {.max_body_bytes = kMaxBatchBytes},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               respond_from_write_soon(context, responder, batch(context, request));
             });
}

}  // namespace loam::api
