// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "api/context.h"
#include "base/json.h"
#include "jobs/attempt.h"
#include "jobs/operation.h"
#include "jobs/token.h"
#include "net/http_server.h"

namespace loam::api {

// Answers with `status` and the JSON, or with the error.
void respond(const net::ResponderPtr& responder, int status, const Result<Json>& result);
void respond(const net::ResponderPtr& responder, const Status& result);

// Who calls, by the bearer token. kUnauthenticated without a good one.
Result<jobs::Principal> caller(const ApiContext& context, const net::HttpRequest& request);
// The same, with the kind of token that the route is for; kPermissionDenied otherwise.
Result<jobs::Principal> user_caller(const ApiContext& context, const net::HttpRequest& request);
Result<jobs::Principal> admin_caller(const ApiContext& context, const net::HttpRequest& request);
Result<jobs::Principal> node_caller(const ApiContext& context, const net::HttpRequest& request);

// The owner whose jobs the caller sees: none (all) for the admin.
std::optional<std::string> visible_owner(const jobs::Principal& principal);

// The lease of a call about one job: node token, path's job and "Loam-Lease: <epoch>.<token>".
Result<jobs::LeaseRef> lease_of(const ApiContext& context, const net::HttpRequest& request);

// The JSON object in the body.
Result<Json> body_object(const net::HttpRequest& request);
// A whole number of the query; `least` is not below 0.
Result<std::int64_t> query_int(const net::HttpRequest& request, std::string_view name,
                               std::int64_t fallback, std::int64_t least, std::int64_t most);

// A call whose answer comes from one write transaction. The route's thread is not held while the
// commit gathers company, so such calls may come by the thousand. `operation` is the call once
// parsed, or why it is refused; it may run more than once.
using WritingCall = std::function<Result<Json>(jobs::Operation& op)>;
void respond_from_write(const ApiContext& context, const net::ResponderPtr& responder,
                        Result<WritingCall> operation);
// The same for a call that somebody waits for: what is queued already shares its commit, no more.
void respond_from_write_soon(const ApiContext& context, const net::ResponderPtr& responder,
                             Result<WritingCall> operation);

// A route that computes its answer at once.
net::Handler answering(int status,
                       std::function<Result<Json>(const net::HttpRequest& request)> answer);

}  // namespace loam::api
