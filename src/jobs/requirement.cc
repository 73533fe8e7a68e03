// SPDX-License-Identifier: Apache-2.0
#include "jobs/requirement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace loam::jobs {

SlotOffer SlotOffer::of(const std::string& pool, std::int64_t gpus, std::int64_t slots,
                        const std::string& gpu_class, double vram_gb,
                        std::int64_t price_uusd_hour) {
  return {pool, gpus / slots, gpu_class, vram_gb,
          static_cast<double>(price_uusd_hour) / 1e6 / static_cast<double>(slots)};
}

Result<bool> meets(const SlotOffer& slot, const std::string& requirement) {
  const Json need = TRY(parse_json(requirement));
  const std::string pool = TRY(json_string(need, "pool"));
  if (pool != "any" && pool != slot.pool) return false;
  if (TRY(json_int(need, "gpus")) > slot.gpus) return false;
  if (TRY(json_number(need, "vram_gb", 0)) > slot.vram_gb) return false;
  if (need.contains("max_price_per_hour") &&
      slot.price_per_hour > TRY(json_number(need, "max_price_per_hour", 0))) {
    return false;
  }
  const Json& classes = need.at("gpu_class");
  return classes.empty() ||
         std::find(classes.begin(), classes.end(), slot.gpu_class) != classes.end();
}

Result<std::string> requirement_text(const std::string& requirement) {
  const Json need = TRY(parse_json(requirement));
  std::vector<std::string> parts;
  const std::string pool = TRY(json_string(need, "pool"));
  if (pool != "any") parts.push_back("pool " + pool);
  const std::int64_t gpus = TRY(json_int(need, "gpus"));
  if (gpus > 0) parts.push_back(fmt::format("{} GPU{} a slot", gpus, gpus == 1 ? "" : "s"));
  std::vector<std::string> classes;
  for (const Json& one : need.at("gpu_class"))
    classes.push_back(one.is_string() ? one.get<std::string>() : one.dump());
  if (!classes.empty()) parts.push_back(fmt::format("gpu_class {}", fmt::join(classes, " or ")));
  const double vram = TRY(json_number(need, "vram_gb", 0));
  if (vram > 0) parts.push_back(fmt::format("{} GB of VRAM", vram));
  if (need.contains("max_price_per_hour")) {
    parts.push_back(
        fmt::format("at most ${} an hour", TRY(json_number(need, "max_price_per_hour", 0))));
  }
  return parts.empty() ? "any node" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace loam::jobs
