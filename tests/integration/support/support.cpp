// SPDX-License-Identifier: Apache-2.0
#include "support/support.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>

#include <fmt/format.h>
#ifdef LATCHKEY_WITHOUT_FIBERS
#include <thread>
#else
#include <boost/fiber/operations.hpp>
#endif
#include <latchkey/queue_snapshot.hpp>

#include "../../announced_ensemble.hpp"
#include "recipes/rules.hpp"

namespace latchkey::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto slowdown = 4;
#else
constexpr auto slowdown = 1;
#endif

void sleep_for(std::chrono::milliseconds time) {
#ifdef LATCHKEY_WITHOUT_FIBERS
  std::this_thread::sleep_for(time);
#else
  boost::this_fiber::sleep_for(time);
#endif
}

int number_from_environment(const char* name, int otherwise) {
  const auto* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace

ensemble& servers() {
  static announced_ensemble instance{[] {
    ensemble_options options;
    options.quorum_proxies = true;
    options.tick = std::chrono::milliseconds{number_from_environment("LATCHKEY_TICK", 500)};
    return options;
  }()};
  return instance;
}

std::string fresh_path() {
  static std::atomic<int> count{0};
  return fmt::format("/test-{}/{}/lock", ::getpid(), ++count);
}

client_options quick(std::chrono::milliseconds session_timeout) {
  client_options options;
  options.session_timeout = session_timeout;
  options.server_tick = std::chrono::milliseconds{number_from_environment("LATCHKEY_SERVER_TICK", 0)};
  return options;
}

std::chrono::milliseconds patience() { return 15s * slowdown; }

std::string missing_connection(client& who) {
  if (who.wait_for_connection(patience())) return {};
  std::string why;
  const auto say = [&why](auto&& ask) {
    try {
      why += ask();
    } catch (const std::exception& failed) {
      why += failed.what();
    }
    why += "; ";
  };
  say([&] {
    const queue_snapshot asked{who, "/", 1s};
    return "connected later";
  });
  for (std::size_t i = 0; i < servers().size(); ++i) {
    say([&] { return fmt::format("server {} is {}", i, servers().admin(i).srvr().mode); });
  }
  return why;
}

bool slowed_down() { return slowdown > 1; }

void pause() {
  be_late();
  sleep_for(2ms);
  throw_if_called_off();
}

void be_late() {
  static const int at_most = number_from_environment("LATCHKEY_LATE", 0);
  if (at_most <= 0) return;
  static std::minstd_rand random{static_cast<unsigned>(number_from_environment("LATCHKEY_SEED", 1))};
  static std::mutex of_random;
  std::unique_lock lock{of_random};
  const bool late = std::uniform_int_distribution{1, 3}(random) == 1;
  const std::chrono::milliseconds by{std::uniform_int_distribution{1, at_most}(random)};
  lock.unlock();
  if (late) sleep_for(by);
}

std::vector<std::string> queue_at(const std::string& path) {
  auto names = servers().children(path);
  std::erase_if(names, [](const std::string& name) { return !detail::parse_contender(name); });
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return detail::parse_contender(a)->number < detail::parse_contender(b)->number;
  });
  return names;
}

bool queued(const std::string& path, std::size_t count) {
  be_late();
  return eventually([&] { return queue_at(path).size() == count; });
}

}  // namespace latchkey::testing
