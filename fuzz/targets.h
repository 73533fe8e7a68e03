// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace loam::fuzz {

// One target for each group of parsers that take bytes from outside. A target may be given any
// bytes and CHECKs what must hold of them; it keeps nothing between calls.
struct Target {
  std::string_view name;  // of its file here, its corpus and its fuzzer
  void (*run)(std::string_view input);
};
std::span<const Target> targets();

// Hands `input` out in pieces whose sizes come from `seed`, an input of its own: how the network or
// a pipe cuts a text up must make no difference.
void in_pieces(std::string_view input, std::string_view seed,
               const std::function<void(std::string_view piece)>& take);

// The first line of an input and what follows it, for targets that need two texts.
struct TwoTexts {
  std::string_view first;
  std::string_view rest;
};
TwoTexts split_line(std::string_view input);

void run_client_text(std::string_view input);
void run_encoding(std::string_view input);
void run_http_fields(std::string_view input);
void run_http_request(std::string_view input);
void run_job_file(std::string_view input);
void run_json(std::string_view input);
void run_manifest(std::string_view input);
void run_node_protocol(std::string_view input);
void run_progress(std::string_view input);
void run_s3_xml(std::string_view input);
void run_spool(std::string_view input);

}  // namespace loam::fuzz
