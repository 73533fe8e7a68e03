// SPDX-License-Identifier: Apache-2.0
#include "object/dir_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/encoding.h"
#include "io/file.h"

namespace loam::object {

namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

void append_escape(std::string& out, unsigned char c) {
  out += '%';
  out += kHexDigits[c >> 4U];
  out += kHexDigits[c & 15U];
}

// Cuts an encoded segment into names of at most kMaxPieceBytes, none ending inside an escape.
std::vector<std::string> cut_into_pieces(const std::string& encoded) {
  std::vector<std::string> pieces;
  std::size_t start = 0;
  while (encoded.size() - start > kMaxPieceBytes) {
    std::size_t end = start + kMaxPieceBytes;
    // What is left is a file's name too, and "." and ".." are none.
    if (const auto rest = std::string_view(encoded).substr(end); rest == "." || rest == "..")
      end -= 3;
    if (encoded[end - 1] == '%') end -= 1;
    if (encoded[end - 2] == '%') end -= 2;
    pieces.push_back(encoded.substr(start, end - start).append(kMoreSuffix));
    start = end;
  }
  pieces.push_back(encoded.substr(start));
  return pieces;
}

}  // namespace

std::string encode_segment(std::string_view segment) {
  if (segment.empty()) return "%";
  const bool whole = segment == "." || segment == ".." || segment == kTempFolder;
  const bool text = is_valid_utf8(segment);
  std::string encoded;
  encoded.reserve(segment.size());
  for (const char c : segment) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte != 0x7f && c != '%' && (byte < 0x80 || text);
    if (plain && !(whole && c == '.')) {
      encoded += c;
    } else {
      append_escape(encoded, byte);
    }
  }
  return encoded;
}

std::optional<std::string> decode_segment(std::string_view encoded) {
  if (encoded == "%") return "";
  std::string segment;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      segment += encoded[i];
      continue;
    }
    if (i + 2 >= encoded.size()) return std::nullopt;
    const std::size_t high = kHexDigits.find(encoded[i + 1]);
    const std::size_t low = kHexDigits.find(encoded[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    segment += static_cast<char>(high * 16 + low);
    i += 2;
  }
  // Only one spelling counts, else two files could claim one key.
  if (segment.empty() || encode_segment(segment) != encoded) return std::nullopt;
  return segment;
}

std::string KeyPath::directory() const {
  std::string joined;
  for (const std::string& name : directories)
    joined = join_path(joined, name);
  return joined;
}

KeyPath path_of_key(std::string_view key) {
  KeyPath path;
  for (;;) {
    const std::size_t slash = key.find('/');
    std::vector<std::string> pieces = cut_into_pieces(encode_segment(key.substr(0, slash)));
    if (slash == std::string_view::npos) {
      path.file = std::move(pieces.back());
      pieces.pop_back();
    }
    std::move(pieces.begin(), pieces.end(), std::back_inserter(path.directories));
    if (slash == std::string_view::npos) return path;
    key.remove_prefix(slash + 1);
  }
}

std::string join_path(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

Result<std::optional<FoundObject>> find_object(const std::string& directory,
                                               const std::string& file) {
  // Plain first: should a crash ever leave both, put and list prefer the plain one as well.
  for (const std::string_view suffix : {std::string_view(), kObjectSuffix}) {
    FoundObject found;
    found.path = join_path(directory, file).append(suffix);
    if (::lstat(found.path.c_str(), &found.st) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) continue;
      return fail(io::error_from_errno(errno, "stat " + found.path));
    }
    if (S_ISREG(found.st.st_mode)) return found;
  }
  return std::optional<FoundObject>();
}

ObjectInfo info_from_stat(std::string key, const struct stat& st) {
  ObjectInfo info;
  info.key = std::move(key);
  info.size = st.st_size;
  const std::int64_t ns = st.st_mtim.tv_sec * std::int64_t{1'000'000'000} + st.st_mtim.tv_nsec;
  info.etag = fmt::format("{:x}-{:x}-{:x}", st.st_ino, st.st_size, ns);
  info.modified_ms = ns / 1'000'000;
  return info;
}

}  // namespace loam::object
