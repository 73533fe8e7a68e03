// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "agent/log_spool.h"
#include "agent/spool_format.h"
#include "base/check.h"
#include "base/clock.h"
#include "fuzz/targets.h"
#include "io/file.h"
#include "io/temp_directory.h"

namespace loam::fuzz {

namespace {

const io::TempDirectory& scratch() {
  static const io::TempDirectory directory;
  return directory;
}
std::string spool_path() {
  return scratch() / std::string(agent::kSpoolFileName);
}

void put(std::string_view bytes) {
  const auto file = io::open_file(spool_path(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  CHECK(file.has_value());
  CHECK(io::write_all(file->get(), std::as_bytes(std::span(bytes.data(), bytes.size()))));
}

struct Output {
  std::string text;
  std::int64_t gap = 0;
  std::int64_t end = 0;
};

// Reads all there is from an offset on. Chunks follow one another without a hole that is not told.
Output read_from(std::int64_t from) {
  Output out{.end = from};
  auto reader = agent::LogSpoolReader::open(scratch().path(), from);
  CHECK(reader.has_value());
  while (!reader->finished()) {
    const auto chunk = reader->next();
    if (!chunk) {
      CHECK(chunk.error().code == ErrorCode::kDataCorrupt);
      return out;
    }
    // Nobody writes, so there is always something, if only the end.
    CHECK(chunk->has_value());
    const agent::LogChunk& one = **chunk;
    CHECK(one.gap_before >= 0 && one.text.size() <= agent::kMaxLogChunkBytes);
    CHECK(one.offset == out.end + one.gap_before);
    CHECK(one.last == reader->finished());
    out.text += one.text;
    out.gap += one.gap_before;
    out.end = one.offset + static_cast<std::int64_t>(one.text.size());
  }
  return out;
}

// A damaged or hostile file is read to some end, and from wherever one begins to the same one.
void check_reading(std::string_view file) {
  put(file);
  const Output all = read_from(0);
  CHECK(all.end == all.gap + static_cast<std::int64_t>(all.text.size()));
  if (all.end < 2) return;
  const Output half = read_from(all.end / 2);
  CHECK(half.end == all.end && all.text.ends_with(half.text));
  CHECK(half.gap <= all.gap);
}

// Records with good checksums, whose kinds and contents the input chooses.
std::string records_of(std::string_view input) {
  std::string out(agent::kSpoolMagic);
  while (input.size() >= 2) {
    const auto kind = static_cast<unsigned char>(input[0]);
    const std::size_t length = static_cast<unsigned char>(input[1]);
    const std::string_view payload = input.substr(2, length);
    input.remove_prefix(2 + payload.size());
    const agent::SpoolRecord record{static_cast<agent::SpoolRecordType>(kind % 3 + 1), kind, 1,
                                    std::string(payload)};
    const std::string bytes = agent::encode_spool_record(record);
    const auto back = agent::decode_spool_record(bytes);
    CHECK(back.has_value() && back->payload == payload && back->type == record.type);
    out += bytes;
  }
  return out;
}

// What a writer was given is what a reader gets.
void check_writing(std::string_view input) {
  static const SystemClock clock;
  std::filesystem::remove(spool_path());
  auto writer = agent::LogSpoolWriter::create(scratch().path(), agent::LogLimits{}, clock);
  CHECK(writer.has_value());
  in_pieces(input, input, [&](std::string_view piece) { writer->append(piece); });
  CHECK(writer->finish(Json{{"code", 0}}) == 0);
  CHECK(read_from(0).text == input);
}

}  // namespace

void run_spool(std::string_view input) {
  check_reading(input);
  check_reading(std::string(agent::kSpoolMagic) + std::string(input));
  check_reading(records_of(input));
  check_writing(input.substr(0, 64));
  if (const auto record = agent::decode_spool_record(input)) {
    CHECK(agent::encode_spool_record(*record) == input);
  }
}

}  // namespace loam::fuzz
