// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What `latchkey run` and its guard say to one another: one packet each, over a pair of sockets.

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace command {

/// The words of the runner, and then those of the guard.
enum class word : std::uint8_t {
  start,   ///< the command, under these terms; the text is what its environment has besides, each "NAME=value" and a 0
  until,   ///< `terms.until` alone has changed; 0: the lock is lost
  stop,    ///< the signal `value`, which asks the command to end
  signal,  ///< the signal `value`, which does not
  kill,    ///< the whole tree
  leave,   ///< what is left of the tree goes on alone

  started,      ///< `value`: its process
  not_started,  ///< `value`: why, an `errno`; below zero if the command was not even tried
  ended,        ///< `value`: the status of the command, as of waitpid
  empty,        ///< no process of the tree is left; `value`: 1 if the lease ran low before
};

/// Times are nanoseconds of CLOCK_BOOTTIME.
struct terms {
  static constexpr std::int64_t never = -1;

  std::int64_t until = 0;              ///< the lock is held until then
  std::int64_t kill_before = never;    ///< the tree is killed so long before that
  std::int64_t signal_before = never;  ///< the command is sent `signal` so long before that
  std::int32_t signal = 0;
};

struct packet {
  word what{};
  std::int64_t value = 0;
  terms with{};
  std::string text{};
};

/// Does not wait: who is stopped, and does not read, holds up nobody. @returns whether it was sent.
inline bool send_packet(int channel, const packet& what) noexcept {
  struct {
    word what;
    std::int64_t value;
    terms with;
  } head{what.what, what.value, what.with};
  std::array<iovec, 2> parts{iovec{&head, sizeof head}, iovec{const_cast<char*>(what.text.data()), what.text.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

/// Waits for it. @returns nothing when the other end is gone.
inline std::optional<packet> receive_packet(int channel) {
  struct {
    word what;
    std::int64_t value;
    terms with;
  } head{};
  std::string text(64 * 1024, '\0');
  std::array<iovec, 2> parts{iovec{&head, sizeof head}, iovec{text.data(), text.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(channel, &message, 0);
    // The other end has closed with something unread: what it said before comes next.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < static_cast<ssize_t>(sizeof head)) return std::nullopt;
  text.resize(static_cast<std::size_t>(got) - sizeof head);
  return packet{head.what, head.value, head.with, std::move(text)};
}

}  // namespace command
