// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace loam::db {

// Whether a text names a PostgreSQL database: "postgresql://…" or "postgres://…".
bool is_postgres_url(std::string_view text);

// The URL with every password in it (before '@', or as ?password= and ?sslpassword=) replaced by
// "***", for people and logs.
std::string redacted_url(std::string_view url);

// `text` with each password that `url` holds replaced, for messages of libraries that may quote it.
std::string redacted_text(std::string text, std::string_view url);

// Overwrites the passwords of a URL where it stands, without changing its length.
void blot_passwords(char* url);

}  // namespace loam::db
