// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Fencing in Redis: a script, which runs as one step, on a hash with the fields `fence` and `value`.
///
/// A server that restarts forgets what it has not written to its disk, and a replica that takes over what it has not
/// received: fences, too. Set `appendonly yes` and `appendfsync always`, and no eviction.

#include <hiredis/hiredis.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/fencing_token.hpp>

namespace fencing {

/// KEYS: the resource. ARGV: the token; then the value, if it is a write. Returns the value, or nil if it was refused.
/// The halves of a token are compared as numbers, since Lua compares text in the order of the server's locale.
inline constexpr const char* redis_script = R"(
local function half(token, first) return tonumber(string.sub(token, first, first + 11), 16) end
local token, seen = ARGV[1], redis.call('HGET', KEYS[1], 'fence')
if seen then
  local high, low = half(token, 1) - half(seen, 1), half(token, 13) - half(seen, 13)
  if high < 0 or (high == 0 and low < 0) then return false end
end
redis.call('HSET', KEYS[1], 'fence', token)
if ARGV[2] then redis.call('HSET', KEYS[1], 'value', ARGV[2]) end
return redis.call('HGET', KEYS[1], 'value') or ''
)";

/// A connection to Redis. Not for two threads at once.
class redis {
 public:
  /// @param socket path of a Unix socket; redisConnect() takes a host and a port
  explicit redis(const std::string& socket) : connection_{::redisConnectUnix(socket.c_str())} {
    if (!connection_ || connection_->err != 0) throw std::runtime_error{"Redis: no connection to " + socket};
  }

  /// Seals a resource, and reads it. @returns its value; nothing if a larger token has been here.
  std::optional<std::string> read(const std::string& resource, latchkey::fencing_token token) {
    return fenced({resource, to_string(token)});
  }

  /// @returns whether the value was written; not if a larger token has been here.
  bool write(const std::string& resource, latchkey::fencing_token token, const std::string& value) {
    return fenced({resource, to_string(token), value}).has_value();
  }

  /// Runs a command. @returns its text; nothing for nil.
  std::optional<std::string> run(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const auto& each : words) {
      texts.push_back(each.data());
      sizes.push_back(each.size());
    }
    void* const raw = ::redisCommandArgv(connection_.get(), static_cast<int>(words.size()), texts.data(), sizes.data());
    const std::unique_ptr<redisReply, free_reply> reply{static_cast<redisReply*>(raw)};
    if (!reply) throw std::runtime_error{"Redis: the connection is lost"};
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error{"Redis: " + std::string{reply->str, reply->len}};
    if (reply->str == nullptr) return std::nullopt;
    return std::string{reply->str, reply->len};
  }

 private:
  struct free_context {
    void operator()(redisContext* context) const { ::redisFree(context); }
  };
  struct free_reply {
    void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
  };

  std::optional<std::string> fenced(const std::vector<std::string>& of) {
    if (of[1] == to_string(latchkey::fencing_token{})) return std::nullopt;  // an empty guard
    std::vector<std::string> words{"EVAL", redis_script, "1"};
    words.insert(words.end(), of.begin(), of.end());
    return run(words);
  }

  std::unique_ptr<redisContext, free_context> connection_;
};

}  // namespace fencing
