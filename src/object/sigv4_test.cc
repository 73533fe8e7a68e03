// SPDX-License-Identifier: Apache-2.0
// Every signature is compared with one that botocore made for the same request.
#include "object/sigv4.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "base/encoding.h"
#include "base/json.h"
#include "base/random.h"

namespace loam::object {
namespace {

std::string run(const std::string& command) {
  std::string out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 65536> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), n);
  return ::pclose(pipe) == 0 ? out : "";
}

std::string bytes_of(const Json& value) {
  return base64_decode(value.get<std::string>()).value();
}

SigningRequest request_of(const Json& made) {
  SigningRequest request;
  request.method = made.at("method");
  request.host = made.at("host");
  request.path = bytes_of(made.at("path"));
  for (const Json& pair : made.at("query"))
    request.query.emplace_back(bytes_of(pair.at(0)), bytes_of(pair.at(1)));
  for (const Json& pair : made.at("headers"))
    request.headers.emplace_back(pair.at(0).get<std::string>(), bytes_of(pair.at(1)));
  request.payload_hash = made.value("payload_hash", "");
  return request;
}

TEST(SigV4, AgreesWithBotocore) {
  constexpr int kCount = 400;
  SystemRandom random;
  const std::string seed = std::to_string(random.below(1'000'000'000));
  SCOPED_TRACE("seed " + seed);
  std::printf("seed %s\n", seed.c_str());
  const std::string made = run("/usr/bin/python3 " LOAM_SOURCE_DIR "/src/object/sigv4_vectors.py " +
                               seed + " " + std::to_string(kCount));
  int headers = 0;
  int urls = 0;
  std::size_t begin = 0;
  while (begin < made.size()) {
    const std::size_t end = made.find('\n', begin);
    const std::string line = made.substr(begin, end - begin);
    begin = end + 1;
    const Json vector = parse_json(line).value();
    const SigningRequest request = request_of(vector);
    const SigningContext context{{vector.at("id"), vector.at("secret"), vector.at("token")},
                                 vector.at("region"),
                                 vector.at("wall_ms").get<std::int64_t>()};
    EXPECT_EQ(encode_path(request.path), vector.at("encoded_path")) << line;
    if (vector.contains("authorization")) {
      ++headers;
      EXPECT_EQ(sign(request, context).back().second, vector.at("authorization")) << line;
    } else {
      ++urls;
      const std::string query =
          presign(request, context, std::chrono::seconds(vector.at("valid_s").get<int>()));
      const std::string expected = "&X-Amz-Signature=" + vector.at("signature").get<std::string>();
      EXPECT_TRUE(query.ends_with(expected)) << query << "\n" << line;
    }
  }
  EXPECT_EQ(headers + urls, kCount) << "is python3-botocore installed?";
  EXPECT_GT(headers, 100);
  EXPECT_GT(urls, 40);
}

// The worked example of the S3 documentation, in case botocore and this were wrong alike.
TEST(SigV4, SignsTheExampleOfTheDocumentation) {
  SigningRequest request;
  request.host = "examplebucket.s3.amazonaws.com";
  request.path = "/test.txt";
  request.headers = {{"Range", "bytes=0-9"}};
  request.payload_hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const SigningContext context{
      {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""},
      "us-east-1",
      1'369'353'600'000};
  EXPECT_TRUE(
      sign(request, context)
          .back()
          .second.ends_with("Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039"
                            "c6036bdb41"));
}

}  // namespace
}  // namespace loam::object
