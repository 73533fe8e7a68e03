// SPDX-License-Identifier: Apache-2.0
#include "loam/checkpoint_table.h"

#include "base/units.h"
#include "loam/json_text.h"

namespace loam::cli {

Table checkpoint_table(const Json& sets) {
  Table table({{"CHECKPOINT"},
               {"STEP", Align::kRight},
               {"ATTEMPT", Align::kRight},
               {"SIZE", Align::kRight},
               {"FILES", Align::kRight},
               {"STATE"},
               {"COMMITTED"},
               {"NOTE"}});
  bool found = false;
  for (const Json& set : sets) {
    const std::string state = text_of(set, "state");
    const bool recovery = !found && state == "committed";
    found = found || recovery;
    std::string note = recovery ? "recovery point" : "";
    const auto add = [&](const std::string& text) {
      if (!text.empty()) note += (note.empty() ? "" : ", ") + text;
    };
    if (text_of(set, "pinned") == "true") add("pinned");
    add(text_of(set, "message"));
    table.add({{text_of(set, "id")},
               {text_of(set, "step")},
               {text_of(set, "epoch")},
               {format_bytes(whole_of(set, "bytes"))},
               {text_of(set, "files")},
               {state, status_style(state)},
               {text_of(set, "committed")},
               {note, recovery ? Style::kGood : Style::kPlain}});
  }
  return table;
}

}  // namespace loam::cli
