// SPDX-License-Identifier: Apache-2.0
#include "api/respond.h"

#include <fmt/format.h>

#include <memory>

#include "api/node_body.h"
#include "base/units.h"

namespace loam::api {

namespace {

Result<jobs::Principal> caller_of_kind(const ApiContext& context, const net::HttpRequest& request,
                                       std::initializer_list<jobs::TokenKind> kinds,
                                       std::string_view wanted) {
  jobs::Principal principal = TRY(caller(context, request));
  if (std::find(kinds.begin(), kinds.end(), principal.kind) != kinds.end()) return principal;
  return fail(ErrorCode::kPermissionDenied,
              fmt::format("this call needs {} token, not a {} token", wanted,
                          jobs::token_kind_name(principal.kind)));
}

}  // namespace

void respond(const net::ResponderPtr& responder, int status, const Result<Json>& result) {
  responder->send(result ? net::json_response(status, dump_json(*result))
                         : net::error_response(result.error()));
}

void respond(const net::ResponderPtr& responder, const Status& result) {
  responder->send(result ? net::json_response(200, "{}") : net::error_response(result.error()));
}

Result<jobs::Principal> caller(const ApiContext& context, const net::HttpRequest& request) {
  const auto token = request.bearer();
  if (!token) {
    return fail(ErrorCode::kUnauthenticated,
                "this call needs the header 'Authorization: Bearer <token>'");
  }
  return context.services.read(
      [&](db::Session& session) { return jobs::authenticate(session, *token); });
}

Result<jobs::Principal> user_caller(const ApiContext& context, const net::HttpRequest& request) {
  return caller_of_kind(context, request, {jobs::TokenKind::kUser, jobs::TokenKind::kAdmin},
                        "a user or admin");
}

Result<jobs::Principal> admin_caller(const ApiContext& context, const net::HttpRequest& request) {
  return caller_of_kind(context, request, {jobs::TokenKind::kAdmin}, "an admin");
}

Result<jobs::Principal> node_caller(const ApiContext& context, const net::HttpRequest& request) {
  return caller_of_kind(context, request, {jobs::TokenKind::kNode}, "a node");
}

std::optional<std::string> visible_owner(const jobs::Principal& principal) {
  return principal.is_admin() ? std::nullopt : std::optional(principal.owner);
}

Result<jobs::LeaseRef> lease_of(const ApiContext& context, const net::HttpRequest& request) {
  const jobs::Principal node = TRY(node_caller(context, request));
  const std::string header = request.headers.get("Loam-Lease").value_or("");
  const LeaseHeader lease = TRY(parse_lease_header(header));
  return jobs::LeaseRef{request.params.at("job"), lease.epoch, std::string(lease.token), node.node};
}

Result<Json> body_object(const net::HttpRequest& request) {
  Json body = TRY(parse_json(request.body));
  if (!body.is_object()) return fail(ErrorCode::kInvalidArgument, "the body must be a JSON object");
  return body;
}

Result<std::int64_t> query_int(const net::HttpRequest& request, std::string_view name,
                               std::int64_t fallback, std::int64_t least, std::int64_t most) {
  const auto text = request.query_value(name);
  if (!text) return fallback;
  const auto value = parse_whole_number(*text);
  if (!value || *value < least || *value > most) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' must be a whole number from {} to {}", name, least, most));
  }
  return *value;
}

namespace {

void respond_from_write(const ApiContext& context, const net::ResponderPtr& responder,
                        Result<WritingCall> operation, std::chrono::milliseconds may_wait) {
  if (!operation) return responder->send(net::error_response(operation.error()));
  const auto answer = std::make_shared<Json>();
  context.services.db.write_async(
      [&context, answer, call = std::move(*operation)](db::Session& session) -> Status {
        jobs::Operation op =
            TRY(jobs::Operation::begin(session, context.services.clock, context.services.random));
        *answer = TRY(call(op));
        return {};
      },
      {.may_wait = may_wait},
      [answer, responder](const Status& status) {
        if (!status) return responder->send(net::error_response(status.error()));
        respond(responder, 200, std::move(*answer));
      });
}

}  // namespace

void respond_from_write(const ApiContext& context, const net::ResponderPtr& responder,
                        Result<WritingCall> operation) {
  respond_from_write(context, responder, std::move(operation), context.options.group_commit);
}

void respond_from_write_soon(const ApiContext& context, const net::ResponderPtr& responder,
                             Result<WritingCall> operation) {
  respond_from_write(context, responder, std::move(operation), std::chrono::milliseconds(0));
}

net::Handler answering(int status,
                       std::function<Result<Json>(const net::HttpRequest& request)> answer) {
  return [status, answer = std::move(answer)](const net::HttpRequest& request,
                                              const net::ResponderPtr& responder) {
    respond(responder, status, answer(request));
  };
}

}  // namespace loam::api
