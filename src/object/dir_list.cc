// SPDX-License-Identifier: Apache-2.0
#include "object/dir_list.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/file.h"
#include "object/dir_layout.h"

namespace loam::object {

namespace {

// What one segment below a directory of keys stands for. `sort_key` is the segment, with a slash
// for a directory: all keys below a directory begin so, hence ordering entries by it orders all
// keys, although '/' is not the smallest byte ("a-b" comes before "a/b", and "a0" after).
struct Entry {
  std::string sort_key;
  bool is_directory = false;
  std::string directory;  // absolute: the directory itself, or the one that holds the file
  std::string file;       // plain name of the file
};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Names and whether they are directories; anything but directories and regular files is left out.
// A directory that vanished holds nothing.
Result<std::vector<std::pair<std::string, bool>>> read_names(const std::string& path) {
  std::vector<std::pair<std::string, bool>> names;
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (directory == nullptr) {
    if (errno == ENOENT || errno == ENOTDIR) return names;
    return fail(io::error_from_errno(errno, "list " + path));
  }
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || name == kTempFolder) continue;
    unsigned char type = entry->d_type;
    if (type == DT_UNKNOWN) {
      struct stat st {};
      if (::lstat((path + "/" + name).c_str(), &st) != 0) continue;
      type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
    }
    if (type == DT_DIR || type == DT_REG) names.emplace_back(name, type == DT_DIR);
  }
  if (errno != 0) return fail(io::error_from_errno(errno, "list " + path));
  return names;
}

bool strip_suffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.resize(text.size() - suffix.size());
  return true;
}

// Appends the entries of `path`; `encoded_start` is the part of an over-long segment that the
// directories above spell. Those directories are flattened into one level here, since the segments
// that they hold sort among the short ones.
Status read_level(const std::string& path, const std::string& encoded_start,
                  std::vector<Entry>& entries) {
  const auto names = TRY(read_names(path));
  for (const auto& [name, is_directory] : names) {
    std::string plain = name;
    if (is_directory && strip_suffix(plain, kMoreSuffix)) {
      if (encoded_start.size() + plain.size() > 3 * kMaxKeyBytes) continue;  // not one of ours
      TRY_VOID(read_level(path + "/" + name, encoded_start + plain, entries));
      continue;
    }
    if (!is_directory) strip_suffix(plain, kObjectSuffix);
    std::optional<std::string> segment = decode_segment(encoded_start + plain);
    if (!segment) continue;  // a file that somebody else put here
    if (is_directory) {
      entries.push_back({*segment + "/", true, path + "/" + name, ""});
    } else {
      entries.push_back({*segment, false, path, plain});
    }
  }
  return {};
}

class Lister {
 public:
  Lister(std::string prefix, const ListOptions& options)
      : prefix_(std::move(prefix)), options_(options) {}

  // Adds what lies in `path`, whose keys begin with `key_start`. False once the page is full.
  Result<bool> visit(const std::string& path, const std::string& key_start) {
    if (key_start.size() > kMaxKeyBytes) return true;
    std::vector<Entry> entries = TRY(entries_of(path, key_start));
    for (const Entry& entry : entries) {
      const std::string key = key_start + entry.sort_key;
      const bool more =
          entry.is_directory ? TRY(visit_directory(entry, key)) : TRY(visit_object(entry, key));
      if (!more) return false;
    }
    return true;
  }

  ListPage finish() { return std::move(page_); }

 private:
  // Sorted, without what the prefix or `after` rules out and without doubles.
  Result<std::vector<Entry>> entries_of(const std::string& path, const std::string& key_start) {
    std::vector<Entry> entries;
    TRY_VOID(read_level(path, "", entries));
    std::erase_if(entries, [&](const Entry& entry) {
      const std::string key = key_start + entry.sort_key;
      return !key.starts_with(prefix_) || is_before(key, entry.is_directory);
    });
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.sort_key < b.sort_key; });
    entries.erase(
        std::unique(entries.begin(), entries.end(),
                    [](const Entry& a, const Entry& b) { return a.sort_key == b.sort_key; }),
        entries.end());
    return entries;
  }

  // Nothing of this entry is after `after`. Without a delimiter a directory that `after` lies in
  // still has keys to give.
  bool is_before(const std::string& key, bool is_directory) const {
    if (key > options_.after) return false;
    return !is_directory || options_.delimiter || !options_.after.starts_with(key);
  }

  Result<bool> visit_object(const Entry& entry, const std::string& key) {
    const std::optional<FoundObject> found = TRY(find_object(entry.directory, entry.file));
    if (!found) return true;  // removed meanwhile
    if (!take(key)) return false;
    page_.objects.push_back(info_from_stat(key, found->st));
    return true;
  }

  Result<bool> visit_directory(const Entry& entry, const std::string& key) {
    if (!options_.delimiter) return visit(entry.directory, key);
    // A directory without an object, left by a crash, is no prefix.
    ListOptions any;
    any.limit = 1;
    Lister below(key, any);
    TRY(below.visit(entry.directory, key));
    if (below.page_.objects.empty()) return true;
    if (!take(key)) return false;
    page_.prefixes.push_back(key);
    return true;
  }

  // Room for one more? If not, the page ends after the last one taken.
  bool take(const std::string& key) {
    if (page_.objects.size() + page_.prefixes.size() == options_.limit) {
      page_.next_after = last_;
      return false;
    }
    last_ = key;
    return true;
  }

  std::string prefix_;
  ListOptions options_;
  ListPage page_;
  std::string last_;
};

}  // namespace

Result<ListPage> list_directory(const std::string& root, const std::string& prefix,
                                const ListOptions& options) {
  // The walk begins in the deepest directory that the prefix names in full.
  const std::size_t slash = prefix.rfind('/');
  const std::string key_start = slash == std::string::npos ? "" : prefix.substr(0, slash + 1);
  std::string path = root;
  if (!key_start.empty()) path += "/" + path_of_key(key_start).directory();
  Lister lister(prefix, options);
  TRY(lister.visit(path, key_start));
  return lister.finish();
}

}  // namespace loam::object
