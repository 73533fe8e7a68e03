// SPDX-License-Identifier: Apache-2.0
#include "agent/control_channel.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace loam::agent {

namespace {

io::Fd passed_descriptor(msghdr& header) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
    return io::Fd(fd);
  }
  return {};
}

}  // namespace

Result<std::pair<io::Fd, io::Fd>> make_control_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(io::error_from_errno(errno, "make a socket pair"));
  }
  return std::pair(io::Fd(ends[0]), io::Fd(ends[1]));
}

Status send_control(int socket, const Json& message, int passed_fd) {
  std::string text = dump_json(message);
  if (text.size() > kMaxControlMessageBytes) {
    return fail(ErrorCode::kTooLarge, fmt::format("a control message of {} bytes", text.size()));
  }
  iovec part{text.data(), text.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (passed_fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &passed_fd, sizeof passed_fd);
  }
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    if (sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return {};
    if (errno != EINTR) break;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS) {
    return fail(ErrorCode::kResourceExhausted, "the control socket's peer does not read");
  }
  return fail(ErrorCode::kUnavailable,
              fmt::format("the control socket's peer is gone: {}", std::strerror(errno)));
}

Result<ControlMessage> receive_control(int socket) {
  std::string text(kMaxControlMessageBytes, '\0');
  // A peer that closed with messages of ours unread leaves an ECONNRESET, which comes once and
  // before the messages that it had sent; hence more than one try.
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    iovec part{text.data(), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t length = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    ControlMessage message;
    if (length > 0) {
      message.kind = ControlMessage::Kind::kMessage;
      message.passed = passed_descriptor(header);
      message.body = TRY(parse_json({text.data(), static_cast<std::size_t>(length)}));
      return message;
    }
    if (length == 0) {
      message.kind = ControlMessage::Kind::kClosed;
      return message;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return message;
    if (errno != EINTR && errno != ECONNRESET) break;
  }
  return fail(io::error_from_errno(errno, "read the control socket"));
}

bool has_room_to_send(int socket) {
  int unread = 0;
  int limit = 0;
  socklen_t length = sizeof limit;
  if (ioctl(socket, SIOCOUTQ, &unread) != 0 ||
      getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &limit, &length) != 0) {
    return false;
  }
  return unread < limit / 2;
}

}  // namespace loam::agent
