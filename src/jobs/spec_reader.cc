// SPDX-License-Identifier: Apache-2.0
#include "jobs/spec_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/encoding.h"
#include "base/nearest.h"

namespace loam::jobs {

namespace {

Result<std::string> scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return fail(ErrorCode::kInvalidArgument, "must be text, a number or true/false");
}

// Job files keep numbers as text where they would not print back the same ("0.40"). Nothing unless
// all of the text is one decimal number; a leading zero or '+' has no meaning that all would share.
template <typename Number>
std::optional<Number> numeric_text(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (text.size() > first + 1 && text[first] == '0' && text[first + 1] != '.') return std::nullopt;
  if (text.find_first_not_of("0123456789-.eE+") != std::string::npos) return std::nullopt;
  Number out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

}  // namespace

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  const std::string unit(end);
  double factor = 0;
  if (unit.empty() || unit == "s") factor = 1e3;
  if (unit == "ms") factor = 1;
  if (unit == "m" || unit == "min") factor = 60e3;
  if (unit == "h") factor = 3600e3;
  if (end == copy.c_str() || factor == 0 || !std::isfinite(number) ||
      std::abs(number * factor) > 1e15) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not a duration; write for example 30, 2.5s, 5m or 2h",
                            printable(text)));
  }
  return static_cast<std::int64_t>(std::llround(number * factor));
}

SpecReader::SpecReader(const Json& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) {
    status_ = fail(ErrorCode::kInvalidArgument,
                   path_.empty() ? "the job must be a mapping of keys to values"
                                 : fmt::format("'{}' must be a mapping of keys to values", path_));
  }
}

std::string SpecReader::name(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const Json* SpecReader::find(std::string_view key) const {
  if (!status_) return nullptr;
  const auto it = object_.find(std::string(key));
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

bool SpecReader::has(std::string_view key) const {
  return find(key) != nullptr;
}

void SpecReader::refuse(ErrorCode code, std::string_view key, std::string_view problem) {
  if (status_) status_ = fail(code, fmt::format("'{}' {}", name(key), problem));
}

void SpecReader::check(std::string_view key, const Status& status) {
  if (!status) refuse(status.error().code, key, "is refused: " + status.error().message);
}

void SpecReader::allow(std::initializer_list<std::string_view> known,
                       std::initializer_list<std::string_view> later) {
  if (!status_) return;
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (std::find(later.begin(), later.end(), key) != later.end()) {
      refuse(ErrorCode::kUnimplemented, key, "is not implemented in this version of loam");
      return;
    }
    std::vector<std::string_view> all(known);
    all.insert(all.end(), later.begin(), later.end());
    const auto nearest = nearest_name(key, all);
    refuse(ErrorCode::kInvalidArgument, printable(key.substr(0, 80)),
           nearest ? fmt::format("is not a known key; did you mean '{}'?", name(*nearest))
                   : "is not a known key");
    return;
  }
}

std::string SpecReader::text(std::string_view key, std::string fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  auto out = scalar_text(*value);
  if (!out) {
    refuse(ErrorCode::kInvalidArgument, key, out.error().message);
    return fallback;
  }
  if (!is_valid_utf8(*out) || out->find('\0') != std::string::npos) {
    refuse(ErrorCode::kInvalidArgument, key, "must be UTF-8 text without NUL");
  }
  return *out;
}

std::string SpecReader::required_text(std::string_view key) {
  std::string out = text(key);
  if (out.empty()) refuse(ErrorCode::kInvalidArgument, key, "is required");
  return out;
}

std::string SpecReader::choice(std::string_view key,
                               std::initializer_list<std::string_view> choices,
                               std::string fallback) {
  std::string out = text(key, std::move(fallback));
  if (std::find(choices.begin(), choices.end(), out) == choices.end()) {
    refuse(ErrorCode::kInvalidArgument, key,
           fmt::format("must be one of: {}", fmt::join(choices, ", ")));
  }
  return out;
}

std::int64_t SpecReader::whole(std::string_view key, std::int64_t fallback, std::int64_t least,
                               std::int64_t most) {
  if (!has(key)) return fallback;
  const auto in_text = numeric_text<std::int64_t>(*find(key));
  const auto out = in_text ? Result<std::int64_t>(*in_text) : json_int(object_, key);
  if (!out || *out < least || *out > most) {
    refuse(ErrorCode::kInvalidArgument, key,
           fmt::format("must be a whole number from {} to {}", least, most));
    return fallback;
  }
  return *out;
}

double SpecReader::number(std::string_view key, double fallback, double least, double most) {
  if (!has(key)) return fallback;
  const auto in_text = numeric_text<double>(*find(key));
  const auto out = in_text ? Result<double>(*in_text) : json_number(object_, key, fallback);
  if (!out || !(*out >= least && *out <= most)) {
    refuse(ErrorCode::kInvalidArgument, key,
           fmt::format("must be a number from {} to {}", least, most));
    return fallback;
  }
  return *out;
}

std::int64_t SpecReader::seconds_as_ms(std::string_view key, std::int64_t fallback_ms,
                                       std::int64_t least_ms, std::int64_t most_ms) {
  if (!has(key)) return fallback_ms;
  const auto out = parse_duration_ms(text(key));
  if (!out) {
    refuse(ErrorCode::kInvalidArgument, key, out.error().message);
    return fallback_ms;
  }
  if (*out < least_ms || *out > most_ms) {
    refuse(ErrorCode::kInvalidArgument, key,
           fmt::format("must be from {} to {} seconds", static_cast<double>(least_ms) / 1e3,
                       static_cast<double>(most_ms) / 1e3));
    return fallback_ms;
  }
  return *out;
}

std::vector<std::string> SpecReader::texts(std::string_view key, std::size_t most) {
  std::vector<std::string> out;
  const Json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_array() || value->size() > most) {
    refuse(ErrorCode::kInvalidArgument, key, fmt::format("must be a list of at most {}", most));
    return out;
  }
  for (const Json& item : *value) {
    auto one = scalar_text(item);
    if (!one || !is_valid_utf8(*one) || one->find('\0') != std::string::npos) {
      refuse(ErrorCode::kInvalidArgument, key, "must hold UTF-8 text without NUL only");
      return out;
    }
    out.push_back(std::move(*one));
  }
  return out;
}

std::map<std::string, std::string> SpecReader::text_map(std::string_view key, std::size_t most) {
  std::map<std::string, std::string> out;
  const Json* value = find(key);
  if (value == nullptr) return out;
  if (!value->is_object() || value->size() > most) {
    refuse(ErrorCode::kInvalidArgument, key,
           fmt::format("must be a mapping with at most {} keys", most));
    return out;
  }
  for (const auto& [item_key, item] : value->items()) {
    auto one = scalar_text(item);
    if (!one || !is_valid_utf8(*one) || one->find('\0') != std::string::npos) {
      refuse(ErrorCode::kInvalidArgument, fmt::format("{}.{}", key, printable(item_key)),
             "must be UTF-8 text, a number or true/false");
      return out;
    }
    out[item_key] = std::move(*one);
  }
  return out;
}

void SpecReader::nested(const Json& value, const std::string& path,
                        const std::function<void(SpecReader&)>& read) {
  SpecReader reader(value, path);
  if (reader.status_) read(reader);
  if (status_) status_ = reader.status_;
}

void SpecReader::object(std::string_view key, const std::function<void(SpecReader&)>& read) {
  if (const Json* value = find(key)) nested(*value, name(key), read);
}

void SpecReader::objects(std::string_view key, std::size_t most,
                         const std::function<void(SpecReader&)>& read) {
  const Json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_array() || value->size() > most) {
    refuse(ErrorCode::kInvalidArgument, key, fmt::format("must be a list of at most {}", most));
    return;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    nested((*value)[i], fmt::format("{}[{}]", name(key), i), read);
  }
}

}  // namespace loam::jobs
