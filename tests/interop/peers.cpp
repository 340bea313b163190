// SPDX-License-Identifier: Apache-2.0
#include "peers.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>

namespace latchkey::testing {
namespace {

/// @returns the number after the word that was expected.
std::int64_t number_after(std::string_view word, const std::string& answer) {
  const auto parts = split(answer, ' ');
  if (parts.size() != 2 || parts[0] != word) throw std::runtime_error{fmt::format("not '{}': {}", word, answer)};
  return std::stoll(parts[1]);
}

/// Curator with the ZooKeeper that it was compiled with, or with the one that is chosen for the servers.
std::string curator_class_path() {
  const auto* const chosen = std::getenv("LATCHKEY_ZOOKEEPER_CLASSPATH");
  return (chosen == nullptr ? "" : std::string{chosen} + ":") + CURATOR_CLASS_PATH;
}

}  // namespace

std::unique_ptr<peer> start_curator() {
  return std::make_unique<peer>(std::vector<std::string>{JAVA, "-Xmx128m", "-XX:+UseSerialGC",
                                                         "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp",
                                                         curator_class_path(), "CuratorPeer"});
}

std::unique_ptr<peer> start_kazoo() {
  return std::make_unique<peer>(std::vector<std::string>{PYTHON, "-B", KAZOO_PEER});
}

std::unique_ptr<peer> start_latchkey() { return std::make_unique<peer>(std::vector<std::string>{LATCHKEY_PEER}); }

peer& latchkeys() {
  static const auto instance = start_latchkey();
  return *instance;
}

peer& curator() {
  static const auto instance = start_curator();
  return *instance;
}

peer& kazoo() {
  static const auto instance = start_kazoo();
  return *instance;
}

contender_there::contender_there(peer& where, std::string name, const std::string& connect_string,
                                 std::chrono::milliseconds session_timeout)
    : where_{where}, name_{std::move(name)} {
  session_ = number_after("open", ask(fmt::format("open {} {}", connect_string, session_timeout.count())));
}

contender_there::~contender_there() {
  try {
    say("close");
  } catch (const std::exception&) {  // it was killed
  }
}

std::int64_t contender_there::take(std::string_view kind, std::string_view path) {
  queue_up(kind, path);
  return granted();
}

void contender_there::queue_up(std::string_view kind, std::string_view path) {
  say(fmt::format("take {} {}", kind, path));
}

std::int64_t contender_there::granted() { return number_after("held", answer()); }

bool contender_there::try_take(std::string_view kind, std::string_view path, std::chrono::milliseconds timeout) {
  return ask(fmt::format("try {} {} {}", kind, path, timeout.count())) != "busy";
}

std::string fresh_name(std::string_view prefix) {
  static std::atomic<int> count{0};
  return fmt::format("{}-{}", prefix, ++count);
}

bool watches(std::int64_t session, const std::string& node) {
  for (std::size_t i = 0; i < servers().size(); ++i) {
    const auto all = servers().admin(i).wchc();
    const auto mine = all.find(session);
    if (mine != all.end() && std::find(mine->second.begin(), mine->second.end(), node) != mine->second.end())
      return true;
  }
  return false;
}

std::vector<std::string> split(std::string_view line, char separator) {
  std::vector<std::string> words;
  for (;;) {
    const auto end = line.find(separator);
    words.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end + 1);
  }
}

}  // namespace latchkey::testing
