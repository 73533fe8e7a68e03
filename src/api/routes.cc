// SPDX-License-Identifier: Apache-2.0
#include "api/routes.h"

namespace loam::api {

void add_routes(net::Router& router, const ApiContext& context) {
  add_admin_routes(router, context);
  add_job_routes(router, context);
  add_checkpoint_routes(router, context);
  add_log_routes(router, context);
  add_event_routes(router, context);
  add_node_routes(router, context);
  add_claim_routes(router, context);
  add_attempt_routes(router, context);
  add_grant_routes(router, context);
  add_transfer_routes(router, context);
  add_store_routes(router, context);
  add_workdir_routes(router, context);
  add_fs_entry_routes(router, context);
  add_fs_list_routes(router, context);
  add_fs_content_routes(router, context);
  add_fs_policy_routes(router, context);
  add_fs_admin_routes(router, context);
}

}  // namespace loam::api
