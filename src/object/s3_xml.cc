// SPDX-License-Identifier: Apache-2.0
#include "object/s3_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>

#include "base/encoding.h"
#include "base/iso_time.h"

namespace loam::object {

namespace {

// What one answer may hold; the largest, a list of 1,000 keys of 1,024 bytes each percent-encoded,
// is about 4 MB.
constexpr std::size_t kMaxXmlBytes = 16 << 20;

std::string text_of(const pugi::xml_node& node, const char* name) {
  return node.child(name).text().get();
}

std::int64_t number_of(const pugi::xml_node& node, const char* name) {
  const std::string text = text_of(node, name);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? out : -1;
}

bool flag_of(const pugi::xml_node& node, const char* name) {
  return text_of(node, name) == "true";
}

tl::unexpected<Error> not_xml(std::string_view expected) {
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("the answer is not a whole <{}>; it was cut short, or the endpoint is not "
                  "an S3 service",
                  expected));
}

bool load(pugi::xml_document& document, std::string_view xml) {
  if (xml.size() > kMaxXmlBytes) return false;
  // White space is part of keys.
  if (!document.load_buffer(xml.data(), xml.size(),
                            pugi::parse_default | pugi::parse_ws_pcdata_single,
                            pugi::encoding_utf8)) {
    return false;
  }
  // pugixml takes several documents in a row for one, which could then say both that it failed and
  // that it succeeded.
  int roots = 0;
  for (const pugi::xml_node& node : document.children())
    roots += node.type() == pugi::node_element ? 1 : 0;
  return roots == 1;
}

// Whether names in this answer are percent-encoded, as was asked for; some servers ignore that.
class Names {
 public:
  explicit Names(const pugi::xml_node& root) : encoded_(text_of(root, "EncodingType") == "url") {}
  Result<std::string> get(const pugi::xml_node& node, const char* name) const {
    std::string text = text_of(node, name);
    if (!encoded_) return text;
    // A space may be '+', as in forms; a real '+' is always %2B.
    std::replace(text.begin(), text.end(), '+', ' ');
    auto decoded = percent_decode(text);
    if (!decoded) return not_xml("Key");
    return *std::move(decoded);
  }

 private:
  bool encoded_;
};

}  // namespace

std::string bare_etag(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return std::string(etag);
}

std::optional<S3ErrorBody> parse_s3_error(std::string_view xml) {
  pugi::xml_document document;
  if (!load(document, xml)) return std::nullopt;
  pugi::xml_node error = document.child("Error");
  if (!error) error = document.child("ErrorResponse").child("Error");  // as STS wraps it
  if (!error) return std::nullopt;
  return S3ErrorBody{text_of(error, "Code"), text_of(error, "Message"), text_of(error, "Region")};
}

Result<S3ListBody> parse_s3_list(std::string_view xml) {
  pugi::xml_document document;
  if (!load(document, xml)) return not_xml("ListBucketResult");
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!root) return not_xml("ListBucketResult");
  const Names names(root);
  S3ListBody out;
  for (const pugi::xml_node& node : root.children("Contents")) {
    ObjectInfo object;
    object.key = TRY(names.get(node, "Key"));
    object.size = number_of(node, "Size");
    object.etag = bare_etag(text_of(node, "ETag"));
    object.modified_ms = parse_iso_time(text_of(node, "LastModified")).value_or(0);
    if (object.key.empty() || object.size < 0) return not_xml("Contents");
    out.objects.push_back(std::move(object));
  }
  for (const pugi::xml_node& node : root.children("CommonPrefixes"))
    out.prefixes.push_back(TRY(names.get(node, "Prefix")));
  out.truncated = flag_of(root, "IsTruncated");
  out.next_token = text_of(root, "NextContinuationToken");
  if (out.truncated && out.next_token.empty()) return not_xml("NextContinuationToken");
  return out;
}

Result<S3UploadsBody> parse_s3_uploads(std::string_view xml) {
  pugi::xml_document document;
  if (!load(document, xml)) return not_xml("ListMultipartUploadsResult");
  const pugi::xml_node root = document.child("ListMultipartUploadsResult");
  if (!root) return not_xml("ListMultipartUploadsResult");
  const Names names(root);
  S3UploadsBody out;
  for (const pugi::xml_node& node : root.children("Upload")) {
    const auto started = parse_iso_time(text_of(node, "Initiated"));
    PendingUpload upload{TRY(names.get(node, "Key")), text_of(node, "UploadId"),
                         started.value_or(0)};
    if (upload.key.empty() || upload.upload_id.empty() || !started) return not_xml("Upload");
    out.uploads.push_back(std::move(upload));
  }
  out.truncated = flag_of(root, "IsTruncated");
  out.next_key = TRY(names.get(root, "NextKeyMarker"));
  out.next_upload = text_of(root, "NextUploadIdMarker");
  if (out.truncated && out.next_key.empty()) return not_xml("NextKeyMarker");
  return out;
}

Result<S3PartsBody> parse_s3_parts(std::string_view xml) {
  pugi::xml_document document;
  if (!load(document, xml)) return not_xml("ListPartsResult");
  const pugi::xml_node root = document.child("ListPartsResult");
  if (!root) return not_xml("ListPartsResult");
  S3PartsBody out;
  for (const pugi::xml_node& node : root.children("Part")) {
    const std::int64_t number = number_of(node, "PartNumber");
    const std::int64_t size = number_of(node, "Size");
    if (number < 1 || number > kMaxParts || size < 0) return not_xml("Part");
    out.parts.push_back({static_cast<int>(number), bare_etag(text_of(node, "ETag")), size});
  }
  out.truncated = flag_of(root, "IsTruncated");
  if (out.truncated) {
    const std::int64_t next = number_of(root, "NextPartNumberMarker");
    if (next < 1 || next > kMaxParts) return not_xml("NextPartNumberMarker");
    out.next_number = static_cast<int>(next);
  }
  return out;
}

Result<std::string> parse_s3_upload_id(std::string_view xml) {
  pugi::xml_document document;
  if (!load(document, xml)) return not_xml("InitiateMultipartUploadResult");
  std::string id = text_of(document.child("InitiateMultipartUploadResult"), "UploadId");
  if (id.empty()) return not_xml("InitiateMultipartUploadResult");
  return id;
}

Result<std::string> parse_s3_etag(std::string_view xml) {
  pugi::xml_document document;
  if (!load(document, xml)) return not_xml("ETag");
  for (const char* name : {"CompleteMultipartUploadResult", "CopyObjectResult", "CopyPartResult"}) {
    const pugi::xml_node root = document.child(name);
    if (root.child("ETag")) return bare_etag(text_of(root, "ETag"));
  }
  return not_xml("ETag");
}

Result<std::vector<S3DeleteFailure>> parse_s3_delete(std::string_view xml) {
  pugi::xml_document document;
  if (!load(document, xml)) return not_xml("DeleteResult");
  const pugi::xml_node root = document.child("DeleteResult");
  if (!root) return not_xml("DeleteResult");
  std::vector<S3DeleteFailure> out;
  for (const pugi::xml_node& node : root.children("Error"))
    out.push_back({text_of(node, "Key"), text_of(node, "Code"), text_of(node, "Message")});
  return out;
}

Result<StsKeys> parse_sts_keys(std::string_view xml) {
  pugi::xml_document document;
  if (!load(document, xml)) return not_xml("AssumeRoleWithWebIdentityResponse");
  const pugi::xml_node node = document.child("AssumeRoleWithWebIdentityResponse")
                                  .child("AssumeRoleWithWebIdentityResult")
                                  .child("Credentials");
  StsKeys out{text_of(node, "AccessKeyId"), text_of(node, "SecretAccessKey"),
              text_of(node, "SessionToken"),
              parse_iso_time(text_of(node, "Expiration")).value_or(0)};
  if (out.id.empty() || out.secret.empty()) return not_xml("Credentials");
  return out;
}

std::optional<std::string> xml_text(std::string_view text) {
  if (!is_valid_utf8(text)) return std::nullopt;
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '\r' || c == '\n' || c == '\t') {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      return std::nullopt;
    } else {
      out += c;
    }
  }
  // U+FFFE and U+FFFF are characters of UTF-8 but not of XML.
  if (out.find("\xef\xbf\xbe") != std::string::npos ||
      out.find("\xef\xbf\xbf") != std::string::npos) {
    return std::nullopt;
  }
  return out;
}

}  // namespace loam::object
