// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string_view>

#include "base/random.h"
#include "object/s3_xml.h"

namespace loam::object {

// What an answer of S3 that is no success means for the request. Pure.
enum class Verdict {
  kFinal,        // no repetition changes it
  kAgain,        // after a pause
  kSlower,       // after a longer pause: the service asks for less
  kClock,        // this machine's clock and the server's differ
  kCredentials,  // the keys have expired or were replaced
  kRegion,       // the bucket is in another region
};
// `code` is that of the error body; empty where there is none (HEAD).
Verdict verdict_of(int status, std::string_view code);

// How long to wait before try `number` (1 is the first repetition): exponential, all of it random
// (full jitter), so that many clients that failed together do not come back together.
std::chrono::milliseconds back_off(int number, bool slower, Random& random);

}  // namespace loam::object
