// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

namespace loam {

namespace {

// Builds a tree while it watches depth and duplicate keys. nlohmann's own parser recurses in
// neither the SAX driver nor here, but destroying a deep tree does, hence the bound.
class BoundedHandler final : public nlohmann::json_sax<Json> {
 public:
  BoundedHandler(Json& root, std::size_t max_depth)
      : dom_(root, /*allow_exceptions=*/false), max_depth_(max_depth) {}

  bool null() override { return dom_.null(); }
  bool boolean(bool value) override { return dom_.boolean(value); }
  bool number_integer(number_integer_t value) override { return dom_.number_integer(value); }
  bool number_unsigned(number_unsigned_t value) override { return dom_.number_unsigned(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    return dom_.number_float(value, text);
  }
  bool string(string_t& value) override { return dom_.string(value); }
  bool binary(binary_t& value) override { return dom_.binary(value); }
  bool start_object(std::size_t n) override {
    if (!enter()) return false;
    keys_.emplace_back();
    return dom_.start_object(n);
  }
  bool key(string_t& value) override {
    if (!keys_.back().insert(value).second) {
      error_ = fmt::format("the key '{}' appears twice in one object", value);
      return false;
    }
    return dom_.key(value);
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return dom_.end_object();
  }
  bool start_array(std::size_t n) override { return enter() && dom_.start_array(n); }
  bool end_array() override {
    --depth_;
    return dom_.end_array();
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    error_ = fmt::format("not valid JSON near byte {}", position);
    return false;
  }

  const std::string& error() const { return error_; }

 private:
  bool enter() {
    if (++depth_ <= max_depth_) return true;
    error_ = fmt::format("JSON is nested more than {} deep", max_depth_);
    return false;
  }

  nlohmann::detail::json_sax_dom_parser<Json> dom_;
  std::size_t max_depth_;
  std::size_t depth_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;
  std::string error_;
};

tl::unexpected<Error> wrong_type(std::string_view key, std::string_view wanted) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' must be {}", key, wanted));
}

tl::unexpected<Error> missing(std::string_view key) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is required", key));
}

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(std::string(key));
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

Result<std::int64_t> as_int(const Json& value, std::string_view key) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > INT64_MAX) return wrong_type(key, "a whole number below 2^63");
    return static_cast<std::int64_t>(number);
  }
  if (!value.is_number_integer()) return wrong_type(key, "a whole number");
  return value.get<std::int64_t>();
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::size_t max_depth) {
  Json root;
  BoundedHandler handler(root, max_depth);
  if (!Json::sax_parse(text.begin(), text.end(), &handler)) {
    return fail(ErrorCode::kInvalidArgument,
                handler.error().empty() ? "not valid JSON" : handler.error());
  }
  return root;
}

std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> json_string(const Json& object, std::string_view key) {
  const Json* value = member(object, key);
  if (value == nullptr) return missing(key);
  if (!value->is_string()) return wrong_type(key, "a string");
  return value->get<std::string>();
}

Result<std::string> json_string(const Json& object, std::string_view key, std::string fallback) {
  if (member(object, key) == nullptr) return fallback;
  return json_string(object, key);
}

Result<std::int64_t> json_int(const Json& object, std::string_view key) {
  const Json* value = member(object, key);
  if (value == nullptr) return missing(key);
  return as_int(*value, key);
}

Result<std::int64_t> json_int(const Json& object, std::string_view key, std::int64_t fallback) {
  const Json* value = member(object, key);
  return value == nullptr ? Result<std::int64_t>(fallback) : as_int(*value, key);
}

Result<double> json_number(const Json& object, std::string_view key, double fallback) {
  const Json* value = member(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_number()) return wrong_type(key, "a number");
  return value->get<double>();
}

Result<bool> json_bool(const Json& object, std::string_view key, bool fallback) {
  const Json* value = member(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return wrong_type(key, "true or false");
  return value->get<bool>();
}

}  // namespace loam
