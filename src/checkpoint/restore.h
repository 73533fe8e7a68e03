// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/manifest.h"

namespace loam::checkpoint {

// Takes the next bytes of a file. An error ends the fetch; return it.
using ByteSink = std::function<Status(std::span<const std::byte>)>;
// Sends the whole content of files[index] to the sink, in order and in pieces of any size. Not
// called for empty files.
using FetchFile = std::function<Status(std::size_t index, const ByteSink& sink)>;

// Writes the unit as `<directory>/<name>` and returns that path. Everything is written under
// `<name>.loam-tmp` first, each block's checksum and each length verified on the way, synced, and
// renamed into place, over an older unit of that name if there is one; so a program never sees a
// part. kDataCorrupt names file and block; after any error nothing is left behind. kInvalidArgument
// if the manifest does not hold check_manifest. One thread per directory.
Result<std::string> restore_set(const SetManifest& manifest, const FetchFile& fetch,
                                const std::string& directory);

// A committed set that could be restored.
struct RestoreCandidate {
  std::string id;
  std::int64_t step = 0;
};

// Where candidates' bytes come from.
struct RestoreSource {
  std::function<Result<SetManifest>(const RestoreCandidate&)> load_manifest;
  std::function<Status(const RestoreCandidate&, const SetManifest&, std::size_t index,
                       const ByteSink& sink)>
      fetch;
};

struct BadCandidate {
  RestoreCandidate candidate;
  Error error;
};

struct RestoreReport {
  std::optional<RestoreCandidate> restored;
  std::string path;               // of the restored unit
  std::vector<BadCandidate> bad;  // whatever came of it, these should be marked bad
  // Why nothing was restored although there were candidates. The job must not start then: starting
  // from zero is only right if there are none.
  std::optional<Error> error;
};

// Tries the candidates, newest first as given, until one verifies. One whose bytes are wrong,
// missing (kDataCorrupt, kNotFound) or whose manifest makes no sense (kInvalidArgument) is bad, and
// the next is tried. Any other error, a store that does not answer or a full disk, says nothing
// about the set: it ends the search, so that a moment's outage does not throw a job back by a
// checkpoint. Without candidates the report is empty.
RestoreReport choose_and_restore(std::span<const RestoreCandidate> newest_first,
                                 const RestoreSource& source, const std::string& directory);

}  // namespace loam::checkpoint
