// SPDX-License-Identifier: Apache-2.0
// The lock people compare with: SET NX PX on one Redis server, and a script that deletes what is still ours.
// It has no queue: who does not get it asks again. So only what needs no queue is measured.

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "contestant.hpp"

namespace {

using namespace bench;
using clock = bench::clock;

constexpr const char* delete_if_ours =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

struct free_reply {
  void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
};
using reply_ptr = std::unique_ptr<redisReply, free_reply>;

class redis_session {
 public:
  explicit redis_session(const std::string& host) {
    const auto colon = host.find(':');
    context_.reset(::redisConnect(host.substr(0, colon).c_str(), std::stoi(host.substr(colon + 1))));
    if (!context_ || context_->err != 0) throw std::runtime_error{"no connection to redis-server"};
    script_ = check(::redisCommand(context_.get(), "SCRIPT LOAD %s", delete_if_ours))->str;
  }

  // Sent, not answered yet.
  void send_lock(const std::string& key, const std::string& token) {
    ::redisAppendCommand(context_.get(), "SET %s %s NX PX 10000", key.c_str(), token.c_str());
  }
  void send_unlock(const std::string& key, const std::string& token) {
    ::redisAppendCommand(context_.get(), "EVALSHA %s 1 %s %s", script_.c_str(), key.c_str(), token.c_str());
  }

  /// @returns whether the next answer is yes: taken, or deleted.
  bool answer() {
    void* raw = nullptr;
    if (::redisGetReply(context_.get(), &raw) != REDIS_OK) throw std::runtime_error{context_->errstr};
    const auto reply = check(raw);
    return reply->type == REDIS_REPLY_STATUS || (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1);
  }

  bool lock(const std::string& key, const std::string& token) {
    send_lock(key, token);
    return answer();
  }
  bool unlock(const std::string& key, const std::string& token) {
    send_unlock(key, token);
    return answer();
  }

 private:
  struct free_context {
    void operator()(redisContext* context) const { ::redisFree(context); }
  };

  static reply_ptr check(void* raw) {
    reply_ptr reply{static_cast<redisReply*>(raw)};
    if (!reply || reply->type == REDIS_REPLY_ERROR) throw std::runtime_error{reply ? reply->str : "redis: no answer"};
    return reply;
  }

  std::unique_ptr<redisContext, free_context> context_;
  std::string script_;
};

const std::string token = "0d1f7c52-6a3b-4a30-9a59-6b2f0c7e9d11";

void expect(bool done) {
  if (!done) throw std::runtime_error{"redis: somebody else has the lock"};
}

figures uncontended(const route& to, double seconds) {
  redis_session session{to.host(0)};
  std::vector<double> cycles;
  const auto start = clock::now();
  auto last = start;
  while (seconds_since(start) < seconds) {
    expect(session.lock("bench:uncontended", token));
    expect(session.unlock("bench:uncontended", token));
    const auto now = clock::now();
    cycles.push_back(std::chrono::duration<double, std::nano>{now - last}.count());
    last = now;
  }
  auto result = rate_of(static_cast<double>(cycles.size()), seconds_since(start));
  result["median_ns"] = median(cycles);
  return result;
}

/// 256 locks at once, on one connection: all requests of a step are sent before the first answer is read.
figures own_locks_256(const route& to, double seconds) {
  redis_session session{to.host(0)};
  std::vector<std::string> keys;
  for (int i = 0; i < 256; ++i) keys.push_back(fmt::format("bench:own:{:03}", i));
  double count = 0;
  const auto start = clock::now();
  while (seconds_since(start) < seconds) {
    for (const auto& key : keys) session.send_lock(key, token);
    for (std::size_t i = 0; i < keys.size(); ++i) expect(session.answer());
    for (const auto& key : keys) session.send_unlock(key, token);
    for (std::size_t i = 0; i < keys.size(); ++i) expect(session.answer());
    count += static_cast<double>(keys.size());
  }
  return rate_of(count, seconds_since(start));
}

figures try_held(const route& to, double seconds) {
  redis_session session{to.host(0)};
  redis_session holder{to.host(0)};
  expect(holder.lock("bench:held", token));
  double count = 0;
  const auto start = clock::now();
  while (seconds_since(start) < seconds) {
    if (session.lock("bench:held", "somebody else")) throw std::runtime_error{"redis: took a held lock"};
    ++count;
  }
  expect(holder.unlock("bench:held", token));
  return rate_of(count, seconds_since(start));
}

}  // namespace

int main(int argc, char** argv) {
  return serve({argv + 1, argv + argc}, {
                                            {"uncontended", uncontended},
                                            {"own_locks_256", own_locks_256},
                                            {"try_held", try_held},
                                            {"relock", uncontended},
                                        });
}
