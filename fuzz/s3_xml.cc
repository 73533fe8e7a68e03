// SPDX-License-Identifier: Apache-2.0
#include "object/s3_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/check.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "base/iso_time.h"
#include "fuzz/targets.h"

namespace loam::fuzz {

namespace {

using namespace loam::object;

// 1 January 10000, where years get a fifth digit.
constexpr std::int64_t kTimeEnd = 253'402'300'800'000;

// Whatever is no good document is taken for a broken answer, and asked for again.
template <typename T>
bool is_read(const Result<T>& parsed) {
  if (parsed) return true;
  const Error& error = parsed.error();
  CHECK(error.code == ErrorCode::kUnavailable && is_valid_utf8(error.message));
  return false;
}

// All that was read was written in the input; entities and percent signs only make it shorter.
class Budget {
 public:
  explicit Budget(std::string_view input) : left_(input.size()) {}
  void take(const std::string& text) {
    CHECK(text.size() <= left_);
    left_ -= text.size();
  }

 private:
  std::size_t left_;
};

bool check_list(std::string_view xml) {
  const auto list = parse_s3_list(xml);
  if (!is_read(list)) return false;
  Budget budget(xml);
  for (const ObjectInfo& object : list->objects) {
    CHECK(!object.key.empty() && object.size >= 0);
    CHECK(object.modified_ms >= 0 && object.modified_ms < kTimeEnd);
    budget.take(object.key);
    budget.take(object.etag);
  }
  for (const std::string& prefix : list->prefixes)
    budget.take(prefix);
  budget.take(list->next_token);
  CHECK(!list->truncated || !list->next_token.empty());
  return true;
}

bool check_uploads(std::string_view xml) {
  const auto body = parse_s3_uploads(xml);
  if (!is_read(body)) return false;
  Budget budget(xml);
  for (const PendingUpload& upload : body->uploads) {
    CHECK(!upload.key.empty() && !upload.upload_id.empty());
    CHECK(upload.started_ms >= 0 && upload.started_ms < kTimeEnd);
    budget.take(upload.key);
    budget.take(upload.upload_id);
  }
  budget.take(body->next_key);
  budget.take(body->next_upload);
  // The next page would be the first again.
  CHECK(!body->truncated || !body->next_key.empty());
  return true;
}

bool check_parts(std::string_view xml) {
  const auto body = parse_s3_parts(xml);
  if (!is_read(body)) return false;
  Budget budget(xml);
  for (const UploadedPart& part : body->parts) {
    CHECK(part.number >= 1 && part.number <= kMaxParts && part.size >= 0);
    budget.take(part.etag);
  }
  CHECK(body->next_number >= 0 && body->next_number <= kMaxParts);
  CHECK(!body->truncated || body->next_number >= 1);
  return true;
}

bool check_delete(std::string_view xml) {
  const auto failures = parse_s3_delete(xml);
  if (!is_read(failures)) return false;
  Budget budget(xml);
  for (const S3DeleteFailure& failure : *failures) {
    budget.take(failure.key);
    budget.take(failure.code);
    budget.take(failure.message);
  }
  return true;
}

bool check_keys(std::string_view xml) {
  const auto keys = parse_sts_keys(xml);
  if (!is_read(keys)) return false;
  CHECK(!keys->id.empty() && !keys->secret.empty());
  CHECK(keys->expires_ms >= 0 && keys->expires_ms < kTimeEnd);
  return true;
}

// One document is one answer: what says that it failed is no result, and a result is of one kind.
void check_document(std::string_view xml) {
  const auto id = parse_s3_upload_id(xml);
  const auto etag = parse_s3_etag(xml);
  CHECK(!id || !id->empty());
  const std::array<bool, 8> read{parse_s3_error(xml).has_value(),
                                 is_read(id),
                                 is_read(etag),
                                 check_list(xml),
                                 check_uploads(xml),
                                 check_parts(xml),
                                 check_delete(xml),
                                 check_keys(xml)};
  CHECK(std::count(read.begin(), read.end(), true) <= 1);
}

// Any text that XML can hold, and any bytes where names are percent-encoded, come back as they
// were.
void check_names(std::string_view name) {
  const std::string url = percent_encode(name, /*keep_slash=*/true);
  const auto list = parse_s3_list(
      fmt::format("<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>{}</Key>"
                  "<Size>1</Size></Contents></ListBucketResult>",
                  url));
  CHECK(list.has_value() == !name.empty());
  CHECK(!list || (list->objects.size() == 1 && list->objects[0].key == name));
  const auto text = xml_text(name);
  if (!text) return;
  CHECK(is_valid_utf8(*text) && text->find('<') == std::string::npos);
  const auto failures = parse_s3_delete(fmt::format(
      "<DeleteResult><Error><Key>{0}</Key><Code>{0}</Code><Message>{0}</Message></Error>"
      "</DeleteResult>",
      *text));
  CHECK(failures && failures->size() == 1 && failures->front().key == name);
  CHECK(failures->front().code == name && failures->front().message == name);
  const auto etag =
      parse_s3_etag(fmt::format("<CopyObjectResult><ETag>\"{}\"</ETag></CopyObjectResult>", *text));
  CHECK(etag && *etag == name);
  const auto error =
      parse_s3_error(fmt::format("<Error><Code>{0}</Code><Message>{0}</Message></Error>", *text));
  CHECK(error && error->code == name && error->message == name);
}

std::string http_date(std::int64_t wall_ms) {
  const std::time_t seconds = wall_ms / 1'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  return {text.data(),
          std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

void check_times(const std::string& text) {
  if (const auto iso = parse_iso_time(text)) {
    CHECK(*iso >= 0 && *iso < kTimeEnd);
    CHECK(parse_iso_time(format_utc(*iso)) == *iso);
    // To the second it is what was written, not another day or hour that it could mean.
    CHECK(text.starts_with(format_utc(*iso / 1'000 * 1'000).substr(0, 19)));
  }
  if (const auto http = parse_http_date(text)) {
    CHECK(*http >= 0 && *http < kTimeEnd && *http % 1'000 == 0);
    CHECK(parse_http_date(http_date(*http)) == *http);
    // But for the day of the week, which nobody needs.
    CHECK(text.substr(4) == http_date(*http).substr(4));
  }
}

}  // namespace

void run_s3_xml(std::string_view input) {
  check_document(input);
  check_names(input);
  check_times(std::string(input));
  // What one service's answer can hold is in another's too, inside the right document.
  const auto [first, rest] = split_line(input);
  check_document(fmt::format("<{0}>{1}</{0}>", first, rest));
  CHECK(bare_etag(fmt::format("\"{}\"", first)) == first);
}

}  // namespace loam::fuzz
