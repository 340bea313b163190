// SPDX-License-Identifier: Apache-2.0
#include "support/support.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#ifdef LATCHKEY_WITHOUT_FIBERS
#include <thread>
#else
#include <boost/fiber/operations.hpp>
#endif

#include "base/node_name.hpp"

namespace latchkey::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto slowdown = 4;
#else
constexpr auto slowdown = 1;
#endif

}  // namespace

ensemble& servers() {
  static ensemble instance{[] {
    ensemble_options options;
    options.quorum_proxies = true;
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
  return options;
}

std::chrono::milliseconds patience() { return 15s * slowdown; }

void pause() {
#ifdef LATCHKEY_WITHOUT_FIBERS
  std::this_thread::sleep_for(2ms);
#else
  boost::this_fiber::sleep_for(2ms);
#endif
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
  return eventually([&] { return queue_at(path).size() == count; });
}

}  // namespace latchkey::testing
