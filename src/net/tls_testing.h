// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the tests of this folder only: an authority, the certificates it issues, and a raw TLS
// client.

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "base/check.h"

namespace loam::net::testing {

struct CertificateOptions {
  std::string names = "IP:127.0.0.1,DNS:localhost";  // as OpenSSL writes alternative names
  long begins_in_s = -60;
  long ends_in_s = 3'600;
  std::string common_name = "server";
};

// A directory of its own with `ca.pem`; gone with all that was issued when it goes.
class TestAuthority {
 public:
  TestAuthority() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base != nullptr ? base : "/tmp") + "/loam-tls-XXXXXX";
    CHECK(mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    key_ = new_key();
    certificate_ = issue({.names = "", .common_name = "test authority"}, key_.get());
    write_certificate(ca_file(), certificate_.get());
  }
  ~TestAuthority() { std::filesystem::remove_all(directory_); }
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  std::string file(const std::string& name) const { return directory_ + "/" + name; }
  std::string ca_file() const { return file("ca.pem"); }

  // Writes NAME.pem and NAME.key.
  void make(const std::string& name, const CertificateOptions& options = {}) {
    const KeyPtr key = new_key();
    write_certificate(file(name + ".pem"), issue(options, key.get()).get());
    const std::string path = file(name + ".key");
    std::filesystem::remove(path);
    FILE* out = std::fopen(path.c_str(), "w");
    CHECK(out != nullptr && chmod(path.c_str(), 0600) == 0);
    CHECK(PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
    std::fclose(out);
  }

 private:
  struct Delete {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
  };
  using KeyPtr = std::unique_ptr<EVP_PKEY, Delete>;
  using CertificatePtr = std::unique_ptr<X509, Delete>;

  static KeyPtr new_key() { return KeyPtr(EVP_EC_gen("P-256")); }

  static void add_extension(X509* to, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    CHECK(extension != nullptr);
    X509_add_ext(to, extension, -1);
    X509_EXTENSION_free(extension);
  }

  // The authority signs itself at first.
  CertificatePtr issue(const CertificateOptions& options, EVP_PKEY* key) {
    CertificatePtr out(X509_new());
    X509* issuer = certificate_ ? certificate_.get() : out.get();
    X509_set_version(out.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(out.get()), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(out.get()), options.begins_in_s);
    X509_gmtime_adj(X509_getm_notAfter(out.get()), options.ends_in_s);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(options.common_name.c_str()),
                               -1, -1, 0);
    X509_set_issuer_name(out.get(), X509_get_subject_name(issuer));
    X509_set_pubkey(out.get(), key);
    add_extension(out.get(), issuer, NID_basic_constraints,
                  certificate_ ? "critical,CA:FALSE" : "critical,CA:TRUE");
    add_extension(out.get(), issuer, NID_subject_key_identifier, "hash");
    if (certificate_) add_extension(out.get(), issuer, NID_authority_key_identifier, "keyid");
    if (!options.names.empty()) {
      add_extension(out.get(), issuer, NID_subject_alt_name, options.names);
    }
    CHECK(X509_sign(out.get(), key_.get(), EVP_sha256()) > 0);
    return out;
  }

  static void write_certificate(const std::string& path, X509* certificate) {
    std::filesystem::remove(path);
    FILE* out = std::fopen(path.c_str(), "w");
    CHECK(out != nullptr && PEM_write_X509(out, certificate) == 1);
    std::fclose(out);
  }

  std::string directory_;
  long serial_ = 0;
  KeyPtr key_;
  CertificatePtr certificate_;
};

// The client's side over a connected socket that blocks; it checks nothing.
class TestTlsClient {
 public:
  // Null if the handshake failed.
  static std::unique_ptr<TestTlsClient> connect(int fd, int version = 0,
                                                const std::string& protocol = "") {
    std::unique_ptr<TestTlsClient> out(new TestTlsClient);
    out->context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_options(out->context_.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    // Old versions are offered only with old ciphers.
    if (version != 0) SSL_CTX_set_cipher_list(out->context_.get(), "DEFAULT:@SECLEVEL=0");
    out->ssl_.reset(SSL_new(out->context_.get()));
    if (version != 0) {
      SSL_set_min_proto_version(out->ssl_.get(), version);
      SSL_set_max_proto_version(out->ssl_.get(), version);
    }
    if (!protocol.empty()) {
      const std::string list = static_cast<char>(protocol.size()) + protocol;
      SSL_set_alpn_protos(out->ssl_.get(), reinterpret_cast<const unsigned char*>(list.data()),
                          static_cast<unsigned>(list.size()));
    }
    SSL_set_fd(out->ssl_.get(), fd);
    if (SSL_connect(out->ssl_.get()) != 1) return nullptr;
    return out;
  }

  bool has_pending() const { return SSL_pending(ssl_.get()) > 0; }
  ssize_t send(const char* data, std::size_t size) {
    return SSL_write(ssl_.get(), data, static_cast<int>(size));
  }
  ssize_t receive(char* out, std::size_t size) {
    return SSL_read(ssl_.get(), out, static_cast<int>(size));
  }
  void send_farewell() { SSL_shutdown(ssl_.get()); }
  std::string version() const { return SSL_get_version(ssl_.get()); }
  // The serial number of the certificate that the server showed.
  long serial() const {
    X509* shown = SSL_get1_peer_certificate(ssl_.get());
    const long out = ASN1_INTEGER_get(X509_get0_serialNumber(shown));
    X509_free(shown);
    return out;
  }

 private:
  struct Delete {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  TestTlsClient() = default;

  std::unique_ptr<SSL_CTX, Delete> context_;
  std::unique_ptr<SSL, Delete> ssl_;
};

}  // namespace loam::net::testing
