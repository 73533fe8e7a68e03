// SPDX-License-Identifier: Apache-2.0
#include "loam/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/encoding.h"
#include "base/units.h"
#include "loam/json_text.h"
#include "loam/table.h"

namespace loam::cli {

namespace {

constexpr std::size_t kBarWidth = 30;

struct ClassName {
  std::string_view name;
  std::string_view meaning;
};
// In the order in which people ask for them.
constexpr std::array<ClassName, 11> kClasses{{
    {"productive", "steps that count"},
    {"provisional", "steps that no checkpoint covers yet"},
    {"lost_work", "steps done again after an interruption"},
    {"data_wait", "waiting for data"},
    {"checkpoint", "saving"},
    {"restore", "fetching a checkpoint"},
    {"startup", "starting programs and fetching inputs"},
    {"draining", "giving work back"},
    {"idle", "no job"},
    {"dead", "paid after the node was lost"},
    {"unaccounted", "no record explains it"},
}};

std::string seconds_text(double seconds) {
  return format_duration_us(static_cast<std::int64_t>(seconds * 1e6));
}

std::string percent_text(double fraction) {
  return fmt::format("{:.1f}%", fraction * 100);
}

// A number that may not be known yet.
std::string maybe(const Json& report, std::string_view key, std::string (*text)(double)) {
  const Json& value = member_of(report, key);
  return value.is_number() ? text(value.get<double>()) : "not known yet";
}

std::string or_dash(const Json& report, std::string_view key, std::string (*text)(double)) {
  const Json& value = member_of(report, key);
  return value.is_number() ? text(value.get<double>()) : "-";
}

std::string classes_text(const Json& report, bool colour) {
  const double total = number_of(report, "seconds_total");
  const Json& by_class = member_of(report, "seconds_by_class");
  Table table({{"TIME"}, {"SECONDS", Align::kRight}, {"SHARE", Align::kRight}, {""}, {"WHAT"}});
  for (const ClassName& one : kClasses) {
    const double seconds = number_of(by_class, one.name);
    // Every class of a whole is shown once it has a part in it.
    if (seconds == 0) continue;
    const double share = total > 0 ? seconds / total : 0;
    const bool good = one.name == "productive";
    const bool wasted = one.name == "lost_work" || one.name == "dead" || one.name == "unaccounted";
    const Style style = good ? Style::kGood : wasted ? Style::kWarning : Style::kPlain;
    table.add({{std::string(one.name), style},
               {fmt::format("{:.1f}", seconds)},
               {percent_text(share)},
               {fmt::format("{:<{}}", bar_text(share, kBarWidth), kBarWidth), style},
               {std::string(one.meaning), Style::kDim}});
  }
  if (table.empty()) return "No paid time is on record yet.\n";
  return table.render(colour) + fmt::format("{} of paid slot time in all\n", seconds_text(total));
}

std::string handovers_text(const Json& report, bool colour) {
  const Json& handovers = member_of(report, "handovers");
  if (!handovers.is_array() || handovers.empty()) return "";
  Table table({{"FROM"},
               {"TO"},
               {"HOW"},
               {"RESUMED AT", Align::kRight},
               {"LOST STEPS", Align::kRight},
               {"HAND-OVER", Align::kRight}});
  for (const Json& one : handovers) {
    const Json& seconds = member_of(one, "seconds");
    const std::string kind = text_of(one, "kind");
    table.add({{text_of(one, "from")},
               {text_of(one, "to")},
               {kind, status_style(kind)},
               {text_of(one, "resumed_step")},
               {text_of(one, "lost_steps")},
               {seconds.is_number() ? seconds_text(seconds.get<double>()) : ""}});
  }
  return "\n" + table.render(colour);
}

std::string group_text(const Json& groups, std::string_view title, bool colour) {
  if (!groups.is_array() || groups.empty()) return "";
  Table table({{std::string(title)},
               {"PAID TIME", Align::kRight},
               {"COST", Align::kRight},
               {"COST/STEP", Align::kRight},
               {"INTERRUPTIONS", Align::kRight},
               {"THEIR COST", Align::kRight},
               {"PRODUCTIVE", Align::kRight},
               {"LOST", Align::kRight},
               {"IDLE", Align::kRight},
               {"GPUS BUSY", Align::kRight}});
  for (const Json& group : groups) {
    const double total = number_of(group, "seconds_total");
    const Json& by_class = member_of(group, "seconds_by_class");
    const auto share = [&](std::string_view name) {
      return total > 0 ? percent_text(number_of(by_class, name) / total) : std::string();
    };
    table.add({{text_of(group, "name")},
               {seconds_text(total)},
               {usd_text(number_of(group, "usd"))},
               {or_dash(group, "usd_per_step", usd_text)},
               {text_of(group, "interruptions")},
               {usd_text(number_of(group, "interruption_usd"))},
               {share("productive")},
               {share("lost_work")},
               {share("idle")},
               {or_dash(group, "gpu_utilisation", percent_text)}});
  }
  return "\n" + table.render(colour);
}

std::string line(std::string_view name, std::string_view value) {
  return fmt::format("{:<18}{}\n", name, printable(value));
}

std::string gpu_line(const Json& report) {
  const Json& share = member_of(report, "gpu_utilisation");
  return share.is_number() ? line("GPUs busy", percent_text(share.get<double>())) : "";
}

std::string advice_line(const Json& report) {
  const Json& advice = member_of(report, "checkpoint_advice");
  if (!advice.is_object()) return "";
  return line("advice",
              fmt::format("save every {}: a save takes {}, a machine lasts {} on average; "
                          "together they then cost {} of the time",
                          seconds_text(number_of(advice, "checkpoint_interval_s")),
                          seconds_text(number_of(advice, "save_cost_s")),
                          seconds_text(number_of(advice, "between_interruptions_s")),
                          percent_text(number_of(advice, "loss"))));
}

}  // namespace

std::string usd_text(double usd) {
  if (usd == 0 || std::abs(usd) >= 0.1) return fmt::format("${:.2f}", usd);
  return fmt::format("${:.2g}", usd);
}

std::string job_report_text(const Json& report, bool colour) {
  std::string out;
  const std::string status = text_of(report, "status");
  out +=
      fmt::format("{}  {}  {}\n", styled(printable(text_of(report, "name")), Style::kBold, colour),
                  text_of(report, "job"), styled(status, status_style(status), colour));
  out += line("cost", usd_text(number_of(report, "usd")));
  out += line("cost per step", maybe(report, "usd_per_step", usd_text));
  out += line("steps", text_of(report, "steps"));
  out += line("step time", maybe(report, "median_step_seconds", seconds_text));
  out += line("goodput", maybe(report, "goodput", percent_text));
  out += line("attempts", text_of(report, "attempts"));
  out += line(
      "interruptions",
      fmt::format("{}, {} steps lost, {} in all", text_of(report, "interruptions"),
                  text_of(report, "lost_steps"), usd_text(number_of(report, "interruption_usd"))));
  out += gpu_line(report) + advice_line(report);
  out += "\n" + classes_text(report, colour) + handovers_text(report, colour);
  const Json& outputs = member_of(report, "outputs");
  if (outputs.is_array() && !outputs.empty()) {
    out += fmt::format("\noutputs ({})\n", outputs.size());
    constexpr std::size_t kMostShown = 20;
    for (std::size_t i = 0; i < std::min(outputs.size(), kMostShown); ++i) {
      if (outputs[i].is_string()) {
        out += fmt::format("  store:{}\n", printable(outputs[i].get<std::string>()));
      }
    }
    if (outputs.size() > kMostShown) out += "  …\n";
  }
  return out;
}

std::string fleet_report_text(const Json& report, bool colour) {
  std::string out = styled("Fleet", Style::kBold, colour) + "\n";
  out += line("cost", usd_text(number_of(report, "usd")));
  out += line("nodes so far", text_of(report, "nodes"));
  std::vector<std::string> jobs;
  const Json& by_status = member_of(report, "jobs");
  if (by_status.is_object()) {
    for (const auto& [status, count] : by_status.items())
      jobs.push_back(fmt::format("{} {}", count.dump(), status));
  }
  out += line("interruptions", fmt::format("{}, {}", text_of(report, "interruptions"),
                                           usd_text(number_of(report, "interruption_usd"))));
  out += line("jobs", jobs.empty() ? "none" : fmt::format("{}", fmt::join(jobs, ", ")));
  out += "\n" + classes_text(report, colour);
  out += group_text(member_of(report, "pools"), "POOL", colour);
  out += group_text(member_of(report, "gpu_classes"), "GPU CLASS", colour);
  out += group_text(member_of(report, "owners"), "OWNER", colour);
  return out;
}

}  // namespace loam::cli
