// SPDX-License-Identifier: Apache-2.0
#include "loam/store_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/iso_time.h"
#include "base/random.h"
#include "base/units.h"
#include "object/multipart.h"

namespace loam::cli {

namespace {

// Signatures are refused at 15 minutes; a clock that is off by seconds is nothing to mention.
constexpr std::int64_t kClockSlackMs = 5'000;
constexpr int kLatencyProbes = 21;

object::S3Call put_call(const std::string& key, std::string_view body) {
  object::S3Call call;
  call.method = "PUT";
  call.key = key;
  call.body = body;
  return call;
}

std::string_view yes(bool good) {
  return good ? "honoured" : "ignored";
}

Result<CheckFinding> check_clock(object::S3Store& store) {
  object::S3Call call;
  call.query = {{"list-type", "2"}, {"max-keys", "1"}};
  const object::S3Answer answer = TRY(store.endpoint().call(call));
  const auto date = parse_http_date(answer.http.headers.get("Date").value_or(""));
  if (!date) return CheckFinding{"clock", true, "the service does not tell its time", ""};
  const std::int64_t off = *date - SystemClock().wall_ms();
  const std::string text =
      std::abs(off) < kClockSlackMs
          ? "agrees with the service's"
          : fmt::format("{} {} the service's", format_duration_us(std::abs(off) * 1000),
                        off > 0 ? "behind" : "ahead of");
  return CheckFinding{"clock", std::abs(off) < kClockSlackMs, text,
                      std::abs(off) < kClockSlackMs ? "" : "set this machine's clock (NTP)"};
}

Result<CheckFinding> check_conditions(object::S3Store& store) {
  const object::S3Conditions::Support can = TRY(store.conditions().support());
  const bool all =
      can.put_if_absent && can.put_if_match && can.multipart_if_absent && can.multipart_if_match;
  return CheckFinding{
      "preconditions", all,
      fmt::format("PUT: If-None-Match is {}, If-Match {}; multipart: If-None-Match {}, If-Match {}",
                  yes(can.put_if_absent), yes(can.put_if_match), yes(can.multipart_if_absent),
                  yes(can.multipart_if_match)),
      all ? ""
          : "Loam checks what is ignored beforehand; two writers at the same moment may both win"};
}

Result<CheckFinding> check_checksums(object::S3Store& store, const std::string& key) {
  const auto refused = [&](const char* name, const char* value) -> Result<bool> {
    object::S3Call call = put_call(key, "probe");
    call.headers = {{name, value}};
    object::S3Refusal refusal;
    const auto answer = store.endpoint().call(call, &refusal);
    if (answer) return false;
    if (refusal.status == 400) return true;
    return fail(answer.error());
  };
  const bool md5 = TRY(refused("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA=="));
  const bool crc = TRY(refused("x-amz-checksum-crc32c", "AAAAAA=="));
  return CheckFinding{"checksums", md5,
                      fmt::format("a wrong Content-MD5 is {}, a wrong CRC-32C is {}",
                                  md5 ? "refused" : "accepted", crc ? "refused" : "accepted"),
                      md5 ? "" : "use https, or payload_signing=always"};
}

Result<CheckFinding> check_multipart(object::S3Store& store, const std::string& key) {
  object::MultipartUploads& uploads = *store.multipart();
  const std::string id = TRY(uploads.begin_upload(key));
  const auto listed = uploads.list_uploads(key.substr(0, key.size() - 1));
  const bool seen = listed && listed->size() == 1;
  const auto try_it = [&]() -> Result<bool> {
    const auto first = TRY(uploads.put_part(key, id, 1, "a"));
    const auto second = TRY(uploads.put_part(key, id, 2, "b"));
    return static_cast<bool>(uploads.complete_upload(key, id, {first, second}, {}));
  };
  const auto small = try_it();
  TRY_VOID(uploads.abort_upload(key, id));
  if (!small) return fail(small.error());
  return CheckFinding{
      "multipart", seen,
      fmt::format("works; {}; uploads in progress are {}",
                  *small ? "parts may have any size" : "parts but the last need 5 MiB, as with AWS",
                  seen ? "listed" : "listed to those only who know their keys"),
      seen ? ""
           : "let the service abort uploads that died (MinIO does after a day): Loam cannot see "
             "them"};
}

Result<CheckFinding> check_keys(object::S3Store& store, const std::string& prefix) {
  const std::vector<std::string> names = {"a",     "a-", "a/",       "a//b",     "a/../b",
                                          "a/./c", "a0", "+ %20&?#", "\xc3\xa9", "\xf0\x9f\x98\x80",
                                          "\x01"};
  std::string broken;
  std::vector<std::string> kept;
  for (const std::string& name : names) {
    const std::string key = prefix + "keys/" + name;
    const auto put = object::put_bytes(store, key, name);
    const auto got = object::get_bytes(store, key, 100);
    if (put && got && *got == name) {
      kept.push_back(key);
    } else {
      broken += fmt::format(" '{}'", printable(name));
    }
  }
  std::vector<std::string> listed;
  TRY_VOID(object::for_each_object(store, prefix + "keys/",
                                   [&](const object::ObjectInfo& object) -> Status {
                                     listed.push_back(object.key);
                                     return {};
                                   }));
  const bool ordered = std::is_sorted(listed.begin(), listed.end());
  std::sort(kept.begin(), kept.end());
  std::sort(listed.begin(), listed.end());
  const bool complete = kept == listed;
  const bool good = broken.empty() && ordered && complete;
  return CheckFinding{"keys and lists", good,
                      fmt::format("{}; lists are {} and {}",
                                  broken.empty() ? "odd keys come back" : "not kept:" + broken,
                                  ordered ? "in order of bytes" : "not in order",
                                  complete ? "complete" : "incomplete"),
                      good                  ? ""
                      : ordered && complete ? "avoid such keys here"
                                            : "Loam needs ordered, complete lists"};
}

Result<double> seconds_of(const std::function<Status()>& work) {
  const SystemClock clock;
  const std::int64_t begin_us = clock.boot_us();
  TRY_VOID(work());
  return static_cast<double>(std::max<std::int64_t>(1, clock.boot_us() - begin_us)) / 1e6;
}

Result<std::int64_t> median_us(const std::function<Status(int)>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < kLatencyProbes; ++i)
    seconds.push_back(TRY(seconds_of([&] { return work(i); })));
  std::sort(seconds.begin(), seconds.end());
  return static_cast<std::int64_t>(std::llround(seconds[seconds.size() / 2] * 1e6));
}

}  // namespace

Result<std::vector<CheckFinding>> check_service(object::S3Store& store, const std::string& prefix) {
  std::vector<CheckFinding> out;
  const std::string whole = store.endpoint().options().prefix + prefix;
  out.push_back(TRY(check_clock(store)));
  out.push_back({"credentials", true, "from " + store.endpoint().credentials_name(), ""});
  out.push_back(TRY(check_conditions(store)));
  out.push_back(TRY(check_checksums(store, whole + "checksum")));
  out.push_back(TRY(check_multipart(store, prefix + "multipart")));
  out.push_back(TRY(check_keys(store, prefix)));
  return out;
}

Result<CheckSpeed> measure_service(object::S3Store& store, const std::string& prefix,
                                   std::int64_t bytes) {
  CheckSpeed out;
  out.bytes = bytes;
  // Random, so that nothing on the way can make it smaller.
  std::string block(1 << 20, '\0');
  SeededRandom(1).fill(std::as_writable_bytes(std::span(block)));
  const std::string key = prefix + "large";
  std::int64_t given = 0;
  const object::Source source = [&](std::span<std::byte> to) -> Result<std::size_t> {
    const auto n = static_cast<std::size_t>(std::min<std::int64_t>(
        bytes - given, static_cast<std::int64_t>(std::min(to.size(), block.size()))));
    std::copy_n(std::as_bytes(std::span(block)).begin(), n, to.begin());
    given += static_cast<std::int64_t>(n);
    return n;
  };
  const double put = TRY(seconds_of([&]() -> Status {
    object::PutOptions options;
    options.length = bytes;
    TRY(store.put(key, source, options));
    return {};
  }));
  std::vector<std::byte> buffer(1 << 20);
  const double get = TRY(seconds_of([&]() -> Status {
    const auto reader = TRY(store.get(key, {}, ""));
    while (TRY(reader->read(buffer)) > 0) {
    }
    return {};
  }));
  out.put_bytes_per_second = static_cast<double>(bytes) / put;
  out.get_bytes_per_second = static_cast<double>(bytes) / get;
  const std::string small(4096, 's');
  out.put_us = TRY(median_us([&](int i) -> Status {
    TRY(object::put_bytes(store, fmt::format("{}small-{}", prefix, i), small));
    return {};
  }));
  out.get_us = TRY(median_us([&](int i) -> Status {
    TRY(object::get_bytes(store, fmt::format("{}small-{}", prefix, i), 1 << 20));
    return {};
  }));
  return out;
}

}  // namespace loam::cli
