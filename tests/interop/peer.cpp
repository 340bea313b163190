// SPDX-License-Identifier: Apache-2.0
#include "peer.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace latchkey::testing {

peer::peer(const std::vector<std::string>& command) : process_{command}, reader_{[this] { read(); }} {}

peer::~peer() {
  kill();
  reader_.join();
}

void peer::say(const std::string& name, std::string_view command) {
  if (!process_.say(fmt::format("{} {}", name, command))) throw std::runtime_error{"a peer does not read"};
}

std::string peer::answer(const std::string& name, std::chrono::milliseconds limit) {
  std::unique_lock lock{mutex_};
  auto& mine = answers_[name];
  if (!arrived_.wait_for(lock, limit, [&] { return !mine.empty() || ended_; }) || mine.empty()) {
    throw std::runtime_error{fmt::format("{} {}", name, ended_ ? "has ended" : "does not answer")};
  }
  auto line = std::move(mine.front());
  mine.pop_front();
  if (line.starts_with("failed")) throw std::runtime_error{fmt::format("{}: {}", name, line)};
  return line;
}

bool peer::answered(const std::string& name) {
  const std::scoped_lock lock{mutex_};
  return !answers_[name].empty();
}

void peer::read() {
  while (auto line = process_.hear()) {
    const std::scoped_lock lock{mutex_};
    const auto space = line->find(' ');
    answers_[line->substr(0, space)].push_back(line->substr(space + 1));
    arrived_.notify_all();
  }
  const std::scoped_lock lock{mutex_};
  ended_ = true;
  arrived_.notify_all();
}

}  // namespace latchkey::testing
