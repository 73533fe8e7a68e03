// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace loam {

// `text` for people and logs, with "***" in place of what gives access, as far as it is known by
// its form: a password before '@' in a URL of any scheme, tokens of Loam, and the signature and
// session token of a presigned request. Everything written to a log, to standard error or into an
// error's answer goes through this; a last net, not a reason to put secrets into messages.
std::string redacted(std::string_view text);

}  // namespace loam
