// SPDX-License-Identifier: Apache-2.0
#include "jobs/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "jobs/report_classes.h"
#include "jobs/step_histogram.h"

namespace loam::jobs {

namespace {

struct AttemptRow {
  std::int64_t epoch = 0;
  std::string state;
  std::string node_name;
  std::int64_t contact_lc = 0;
  std::optional<std::int64_t> resumed_step;
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> first_step_lc;
  std::optional<std::int64_t> committed_step;  // newest set of this attempt
  std::optional<std::int64_t> dead_us;         // of its slot, if the node died under it
  double uusd_per_hour = 0;                    // of the slot

  bool interrupted() const { return state == "lost" || state == "released"; }
  std::int64_t lost_steps() const {
    if (state == "succeeded" || state == "running" || !step) return 0;
    return std::max<std::int64_t>(
        0, *step - std::max(committed_step.value_or(0), resumed_step.value_or(0)));
  }
};

Result<std::vector<AttemptRow>> load_attempts(db::Session& session, const std::string& job) {
  std::vector<AttemptRow> out;
  for (const db::Row& row : TRY(session.rows(
           "SELECT a.epoch, a.state, n.name, a.contact_lc, a.resumed_step, a.step, "
           "a.first_step_lc, "
           "(SELECT max(s.step) FROM checkpoint_set s WHERE s.job_id = a.job_id AND "
           "s.epoch = a.epoch AND s.state <> 'bad'), n.state, n.paid_us - n.contact_us, "
           "n.price_uusd_hour, n.slots, NOT EXISTS (SELECT 1 FROM attempt b WHERE b.node_id = "
           "a.node_id AND b.slot = a.slot AND (b.started_lc > a.started_lc OR (b.started_lc = "
           "a.started_lc AND b.epoch > a.epoch))) FROM attempt a JOIN node n ON n.id = a.node_id "
           "WHERE a.job_id = ? ORDER BY a.epoch",
           job))) {
    AttemptRow attempt{row.integer(0), row.text(1), row.text(2), row.integer(3)};
    attempt.resumed_step = row.opt_integer(4);
    attempt.step = row.opt_integer(5);
    attempt.first_step_lc = row.opt_integer(6);
    attempt.committed_step = row.opt_integer(7);
    // A node that died more than once was paid for dead time after its last attempt only.
    if (attempt.state == "lost" && row.text(8) == "lost" && row.boolean(12))
      attempt.dead_us = row.opt_integer(9);
    attempt.uusd_per_hour =
        static_cast<double>(row.integer(10)) / static_cast<double>(row.integer(11));
    out.push_back(std::move(attempt));
  }
  return out;
}

struct JobTime {
  ClassTotals classes;
  GpuUse gpus;
  StepHistogram final_steps;
};

Result<JobTime> sum_segments(db::Session& session, const std::string& job,
                             const std::vector<AttemptRow>& attempts) {
  std::map<std::int64_t, double> prices;
  for (const AttemptRow& attempt : attempts)
    prices[attempt.epoch] = attempt.uusd_per_hour;
  JobTime out;
  std::map<std::int64_t, std::int64_t> last_end;
  for (const db::Row& row : TRY(session.rows(
           "SELECT epoch, start_us, end_us, class, data_wait_us, checkpoint_us, steps, "
           "gpu_busy_us FROM segment "
           "WHERE job_id = ? ORDER BY epoch, start_us",
           job))) {
    const std::int64_t epoch = row.integer(0);
    const std::int64_t start = row.integer(1);
    const std::int64_t end = row.integer(2);
    const double price = prices[epoch];
    // A hole inside an attempt is time that no record explains.
    if (const auto it = last_end.find(epoch); it != last_end.end() && it->second < start) {
      out.classes.add("unaccounted", start - it->second, price);
    }
    last_end[epoch] = end;
    out.classes.add_segment(row.text(3), end - start, row.integer(4), row.integer(5), price);
    if (const auto busy = row.opt_integer(7)) out.gpus.add(*busy, end - start);
    if (row.text(3) == "productive") {
      out.final_steps.merge(TRY(StepHistogram::from_json(TRY(parse_json(row.text(6))))));
    }
  }
  for (const AttemptRow& attempt : attempts) {
    if (attempt.dead_us) out.classes.add("dead", *attempt.dead_us, attempt.uusd_per_hour);
  }
  return out;
}

struct Interruptions {
  Json handovers = Json::array();
  std::int64_t count = 0;
  std::int64_t lost_steps = 0;
};

Interruptions sum_interruptions(const std::vector<AttemptRow>& attempts) {
  Interruptions out;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const AttemptRow& attempt = attempts[i];
    out.lost_steps += attempt.lost_steps();
    if (!attempt.interrupted()) continue;
    ++out.count;
    if (i + 1 == attempts.size()) continue;
    const AttemptRow& next = attempts[i + 1];
    Json entry{{"from", attempt.node_name},
               {"to", next.node_name},
               {"kind", attempt.state},
               {"lost_steps", attempt.lost_steps()},
               {"resumed_step", next.resumed_step ? Json(*next.resumed_step) : Json()},
               {"seconds", nullptr}};
    if (next.first_step_lc) {
      entry["seconds"] = static_cast<double>(*next.first_step_lc - attempt.contact_lc) / 1e3;
    }
    out.handovers.push_back(std::move(entry));
  }
  return out;
}

void add_step_figures(Json& out, const JobTime& time, std::int64_t steps) {
  const auto median = time.final_steps.median_us();
  const std::int64_t paid = time.classes.total_us();
  out["median_step_seconds"] = median ? Json(static_cast<double>(*median) / 1e6) : Json();
  out["goodput"] = nullptr;
  if (median && paid > 0) {
    out["goodput"] = static_cast<double>(time.final_steps.capped_sum_us(3 * *median)) /
                     static_cast<double>(paid);
  }
  out["usd_per_step"] = steps > 0 ? Json(time.classes.usd() / static_cast<double>(steps)) : Json();
}

}  // namespace

Result<Json> job_report(db::Session& session, const std::string& job) {
  const auto row = TRY(session.row(
      "SELECT name, owner, pool, status, phase, step, committed_step, created_at, started_at, "
      "finished_at FROM job WHERE id = ?",
      job));
  if (!row) return fail(ErrorCode::kNotFound, fmt::format("no job {}", job));
  const std::vector<AttemptRow> attempts = TRY(load_attempts(session, job));
  const JobTime time = TRY(sum_segments(session, job, attempts));
  const Interruptions interruptions = sum_interruptions(attempts);
  const bool completed = row->text(3) == "completed";
  // Until it is completed, a job's history is what a set covers.
  const std::int64_t steps = (completed ? row->opt_integer(5) : row->opt_integer(6)).value_or(0);
  Json out{{"job", job},
           {"name", row->text(0)},
           {"owner", row->text(1)},
           {"pool", row->text(2)},
           {"status", row->text(3)},
           {"phase", row->text(4)},
           {"created", format_utc(row->integer(7))},
           {"steps", steps},
           {"attempts", attempts.size()},
           {"interruptions", interruptions.count},
           {"lost_steps", interruptions.lost_steps},
           {"handovers", interruptions.handovers},
           {"handover_seconds", nullptr},
           {"resumed_step", nullptr},
           {"seconds_total", static_cast<double>(time.classes.total_us()) / 1e6},
           {"seconds_by_class", time.classes.seconds()},
           {"usd", time.classes.usd()},
           {"interruption_usd", time.classes.interruption_usd()},
           {"gpu_utilisation", time.gpus.share()}};
  if (const auto at = row->opt_integer(8)) out["started"] = format_utc(*at);
  if (const auto at = row->opt_integer(9)) out["finished"] = format_utc(*at);
  if (!interruptions.handovers.empty()) {
    out["handover_seconds"] = interruptions.handovers.back().at("seconds");
    out["resumed_step"] = interruptions.handovers.back().at("resumed_step");
  }
  add_step_figures(out, time, steps);
  return out;
}

}  // namespace loam::jobs
