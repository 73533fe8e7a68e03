// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.h"

#include <algorithm>
#include <array>

namespace loam::fuzz {

std::span<const Target> targets() {
  static constexpr std::array<Target, 11> kTargets{{{"client_text", run_client_text},
                                                    {"encoding", run_encoding},
                                                    {"http_fields", run_http_fields},
                                                    {"http_request", run_http_request},
                                                    {"job_file", run_job_file},
                                                    {"json", run_json},
                                                    {"manifest", run_manifest},
                                                    {"node_protocol", run_node_protocol},
                                                    {"progress", run_progress},
                                                    {"s3_xml", run_s3_xml},
                                                    {"spool", run_spool}}};
  return kTargets;
}

void in_pieces(std::string_view input, std::string_view seed,
               const std::function<void(std::string_view piece)>& take) {
  std::size_t at = 0;
  while (!input.empty()) {
    const std::size_t wanted =
        seed.empty() ? 1 : static_cast<unsigned char>(seed[at++ % seed.size()]) % 17U + 1U;
    const std::string_view piece = input.substr(0, wanted);
    input.remove_prefix(piece.size());
    take(piece);
  }
}

TwoTexts split_line(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  return {input.substr(0, end), input.substr(std::min(end + 1, input.size()))};
}

}  // namespace loam::fuzz
