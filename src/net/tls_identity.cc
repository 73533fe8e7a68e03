// SPDX-License-Identifier: Apache-2.0
#include "net/tls_identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "net/tls_context.h"

namespace loam::net {

namespace {

struct KeyDelete {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct BioDelete {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
struct FdClose {
  int fd;
  ~FdClose() { ::close(fd); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, KeyDelete>;

constexpr std::size_t kMaxKeyBytes = 64 << 10;

tl::unexpected<Error> unusable(std::string_view what, const std::string& file,
                               std::string_view problem) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("the {} {} {}", what, file, problem));
}

// Who else can read the key can pretend to be this server.
Status check_key_mode(const std::string& file, const struct stat& info) {
  const unsigned allowed = info.st_uid == 0 ? 0740U : 0700U;
  if ((info.st_mode & 0777U & ~allowed) == 0) return {};
  return unusable("private key", file,
                  fmt::format("can be used by others (mode {:04o}); do: chmod 600 {}",
                              info.st_mode & 0777U, file));
}

Result<std::string> read_key_file(const std::string& file) {
  const FdClose opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info {};
  if (opened.fd < 0 || ::fstat(opened.fd, &info) != 0) {
    return unusable("private key", file, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  TRY_VOID(check_key_mode(file, info));
  std::string text(kMaxKeyBytes, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n = ::read(opened.fd, text.data() + got, text.size() - got);
    if (n < 0) {
      return unusable("private key", file, fmt::format("cannot be read: {}", std::strerror(errno)));
    }
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

Result<KeyPtr> load_key(const std::string& file) {
  std::string text = TRY(read_key_file(file));
  const std::unique_ptr<BIO, BioDelete> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  // No pass phrase: a server starts without anybody who could type it.
  const auto no_phrase = +[](char*, int, int, void*) { return -1; };
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_phrase, nullptr));
  OPENSSL_cleanse(text.data(), text.size());
  if (key) return key;
  take_ssl_error();
  return unusable("private key", file, "is not a PEM private key without a pass phrase");
}

// HTTP/1.1 and nothing else; a client that wants only others is refused.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* offered, unsigned offered_length, void*) {
  static constexpr std::array<unsigned char, 9> kOurs{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_length, kOurs.data(), kOurs.size(), offered,
                                          offered_length);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<SslContextPtr> make_context() {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return fail(ErrorCode::kInternal, "OpenSSL could not be initialised: " + take_ssl_error());
  }
  // A connection that ends without a farewell is no fault: HTTP says itself where a body ends.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE |
                                         SSL_OP_IGNORE_UNEXPECTED_EOF);
  // An idle connection holds no buffers, as without TLS.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  return context;
}

Result<SslContextPtr> load_context(const std::string& certificate_file,
                                   const std::string& key_file) {
  SslContextPtr context = TRY(make_context());
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate_file.c_str()) != 1) {
    return unusable("certificate", certificate_file, "cannot be used: " + take_ssl_error());
  }
  const KeyPtr key = TRY(load_key(key_file));
  const X509* certificate = SSL_CTX_get0_certificate(context.get());
  if (X509_check_private_key(certificate, key.get()) != 1) {
    take_ssl_error();
    return unusable("private key", key_file,
                    fmt::format("does not belong to the certificate {}", certificate_file));
  }
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    return unusable("private key", key_file, "cannot be used: " + take_ssl_error());
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    LOG_WARN("the certificate {} has expired; clients will refuse it", certificate_file);
  }
  return context;
}

// What tells one state of a file from another; a missing file is a state too.
struct FileStamp {
  bool there = false;
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  time_t seconds = 0;
  long nanoseconds = 0;
  mode_t mode = 0;

  bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return {};
  return {true,         info.st_dev,         info.st_ino,
          info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
          info.st_mode};
}

class FileIdentity final : public TlsIdentity {
 public:
  FileIdentity(std::string certificate_file, std::string key_file)
      : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)) {}

  Status reload() override {
    // Taken before the files are read, so that a change meanwhile is seen as one later.
    const auto stamps = now();
    {
      const std::lock_guard lock(mutex_);
      stamps_ = stamps;
    }
    impl_.replace(TRY(load_context(certificate_file_, key_file_)));
    return {};
  }

  bool changed() const override {
    const auto stamps = now();
    const std::lock_guard lock(mutex_);
    return stamps != stamps_;
  }

  Impl& impl() override { return impl_; }

 private:
  std::pair<FileStamp, FileStamp> now() const {
    return {stamp_of(certificate_file_), stamp_of(key_file_)};
  }

  const std::string certificate_file_;
  const std::string key_file_;
  mutable std::mutex mutex_;
  std::pair<FileStamp, FileStamp> stamps_;
  Impl impl_;
};

}  // namespace

std::string take_ssl_error() {
  std::string out = "unknown error";
  const unsigned long code = ERR_peek_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  if (reason != nullptr) out = reason;
  if (code != 0 && ERR_SYSTEM_ERROR(code)) out = std::strerror(ERR_GET_REASON(code));
  ERR_clear_error();
  return out;
}

Result<std::shared_ptr<TlsIdentity>> TlsIdentity::load(const std::string& certificate_file,
                                                       const std::string& key_file) {
  auto identity = std::make_shared<FileIdentity>(certificate_file, key_file);
  TRY_VOID(identity->reload());
  return std::shared_ptr<TlsIdentity>(std::move(identity));
}

}  // namespace loam::net
