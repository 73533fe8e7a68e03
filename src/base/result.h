// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace loam {

// What a failure means to its caller. Callers branch on these and never on text, HTTP status or
// errno; each of those is mapped to or from a code in exactly one function (net/status.h for HTTP).
enum class ErrorCode {
  kInvalidArgument,     // the request can never succeed as it is
  kUnauthenticated,     // no token, or one that nobody issued
  kPermissionDenied,    // the token is good but does not reach this far
  kNotFound,            // the named thing does not exist
  kAlreadyExists,       // the name is taken
  kPreconditionFailed,  // an If-Match or a base version did not hold
  kConflict,            // the thing is in a state that does not allow this
  kLeaseLost,           // the lease was given to another, or its token is wrong
  kTooLarge,            // over a stated bound
  kUnprocessable,       // it contradicts itself or an earlier call: bytes that do not match their
                        // announced checksum, another body under a used Idempotency-Key
  kResourceExhausted,   // a queue, quota or rate is full; later may do
  kQuotaExceeded,       // a directory's quota would be passed; nothing fits until some is removed
  kNotDirectory,        // a directory is wanted there
  kIsDirectory,         // a directory is not wanted there
  kNotEmpty,            // the directory still has entries
  kReadOnly,            // it is sealed
  kUnavailable,         // a peer or service did not answer; a retry may do
  kDeadlineExceeded,    // the time given for it has passed
  kDataCorrupt,         // bytes do not match their checksum or format
  kUnimplemented,       // known, but not built in this version
  kCanceled,            // given up on request
  kInternal,            // a bug or a broken environment
};

// The stable lower-case name used in the API ("lease_lost").
std::string_view error_code_name(ErrorCode code);
// True where trying the same call again later may succeed.
bool is_retryable(ErrorCode code);

// A message says what failed, which object it was, and what to do about it.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  std::string to_string() const;
};

// A value or an Error. No exception crosses a folder; results do.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}
inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace loam

// The names are made unique so that one TRY may stand inside another's argument. A name that is
// declared cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define LOAM_TRY_NAME2(counter) try_result_##counter
#define LOAM_TRY_NAME(counter) LOAM_TRY_NAME2(counter)
#define LOAM_TRY(name, expression)                               \
  __extension__({                                                \
    auto name = (expression);                                    \
    if (!name) return ::tl::unexpected(std::move(name).error()); \
    std::move(*name);                                            \
  })
#define LOAM_TRY_VOID(name, expression)                          \
  do {                                                           \
    auto name = (expression);                                    \
    if (!name) return ::tl::unexpected(std::move(name).error()); \
  } while (false)
// NOLINTEND(bugprone-macro-parentheses)

// TRY(x) is the value of the Result x, or returns its error from the enclosing function.
#define TRY(...) LOAM_TRY(LOAM_TRY_NAME(__COUNTER__), (__VA_ARGS__))
// TRY_VOID(x) is the same for a Result that carries no value.
#define TRY_VOID(...) LOAM_TRY_VOID(LOAM_TRY_NAME(__COUNTER__), (__VA_ARGS__))
