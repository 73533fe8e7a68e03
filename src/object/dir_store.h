// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "io/file.h"
#include "object/dir_layout.h"
#include "object/object_store.h"

namespace loam::object {

// A directory of a local (or well-behaved network) file system as a store. Objects are plain files
// at the path that their key spells, but for odd keys (docs/formats/store-layout.md).
//
// A put writes a temporary file, syncs it, renames it into place and syncs the directory, so a kill
// or a power loss at any point leaves the old or the new object whole. What changes names is
// serialised by one lock file across threads and processes on this machine; bytes are written and
// read without it.
class DirStore final : public ObjectStore {
 public:
  // Makes the directory if it is missing, and removes temporary files that are older than a day.
  static Result<std::unique_ptr<DirStore>> open(const std::string& path);

  Result<ObjectInfo> put(const std::string& key, const Source& source,
                         const PutOptions& options) override;
  Result<std::unique_ptr<ObjectReader>> get(const std::string& key, ByteRange range,
                                            const std::string& if_match) override;
  Result<ObjectInfo> head(const std::string& key) override;
  Result<ListPage> list(const std::string& prefix, const ListOptions& options) override;
  Status remove(const std::string& key) override;
  Result<ObjectInfo> copy(const std::string& from, const std::string& to) override;
  std::string describe() const override { return "dir:" + root_; }

 private:
  struct TempFile;

  DirStore(std::string root, io::Fd lock_file)
      : root_(std::move(root)), lock_file_(std::move(lock_file)) {}

  Result<TempFile> make_temp() const;
  std::string absolute(const std::string& relative) const;
  // Renames a finished, synced temporary file to where the key says.
  Result<ObjectInfo> publish(TempFile& temp, const std::string& key, const PutOptions& options);
  // The three below are called under the lock.
  Status make_parents(const KeyPath& path);
  Result<std::string> choose_target(const KeyPath& path, const PutOptions& options);
  Status remove_empty_parents(const KeyPath& path);

  const std::string root_;
  std::mutex mutex_;  // flock does not exclude threads that share a descriptor
  io::Fd lock_file_;
};

// Whether a directory holds such a store; makes nothing.
bool is_dir_store(const std::string& path);

}  // namespace loam::object
