// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"

namespace loam::cli {

// The report of one job (GET /v1/jobs/<id>/cost) and of the fleet (GET /v1/report), for people.
std::string job_report_text(const Json& report, bool colour);
std::string fleet_report_text(const Json& report, bool colour);

// "$1.50", "$0.0042": small sums keep two significant digits.
std::string usd_text(double usd);

}  // namespace loam::cli
