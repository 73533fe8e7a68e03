// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/context.h"
#include "base/json.h"
#include "jobs/exposure.h"
#include "net/http_server.h"

namespace loam::api {

// Adds every route. The context outlives the router.
void add_routes(net::Router& router, const ApiContext& context);

// The parts, each in a file of its own.
void add_job_routes(net::Router& router, const ApiContext& context);
void add_checkpoint_routes(net::Router& router, const ApiContext& context);
void add_log_routes(net::Router& router, const ApiContext& context);
void add_event_routes(net::Router& router, const ApiContext& context);
void add_node_routes(net::Router& router, const ApiContext& context);
void add_claim_routes(net::Router& router, const ApiContext& context);
void add_attempt_routes(net::Router& router, const ApiContext& context);
void add_grant_routes(net::Router& router, const ApiContext& context);
void add_transfer_routes(net::Router& router, const ApiContext& context);
void add_store_routes(net::Router& router, const ApiContext& context);
void add_workdir_routes(net::Router& router, const ApiContext& context);
void add_admin_routes(net::Router& router, const ApiContext& context);
void add_fs_entry_routes(net::Router& router, const ApiContext& context);
void add_fs_list_routes(net::Router& router, const ApiContext& context);
void add_fs_content_routes(net::Router& router, const ApiContext& context);
void add_fs_policy_routes(net::Router& router, const ApiContext& context);
void add_fs_admin_routes(net::Router& router, const ApiContext& context);

// {"checkpoint_interval_s"}, or null while no save has been timed.
Json advice_json(const jobs::SaveFigures& figures);

}  // namespace loam::api
