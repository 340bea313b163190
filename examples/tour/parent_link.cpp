// SPDX-License-Identifier: Apache-2.0
#include "parent_link.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/fiber/future/future.hpp>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace tour {

parent_link::parent_link() : reader_{[this] { read(); }} {}

parent_link::~parent_link() {
  leaving_ = true;
  send("bye");  // answered by the end of our input
  reader_.join();
}

void parent_link::tell(const event& what) { send("event " + to_line(what)); }

bool parent_link::write(latchkey::fencing_token token, const std::string& value) { return ask("write", token, value); }

bool parent_link::wait_until_overtaken(latchkey::fencing_token token) { return ask("overtaken", token, {}); }

bool parent_link::ask(std::string_view what, latchkey::fencing_token token, std::string_view rest) {
  boost::fibers::future<bool> answer;
  std::int64_t id = 0;
  {
    const std::lock_guard lock{answering_};
    id = ++last_question_;
    answer = questions_[id].get_future();
  }
  send(fmt::format("{} {} {} {}", what, id, latchkey::to_string(token), rest));
  return answer.get();
}

std::optional<std::string> parent_link::next_order() {
  std::unique_lock lock{ordering_};
  if (!ordered_.wait(lock, stop_.get_token(), [this] { return !orders_.empty(); })) return std::nullopt;
  auto order = std::move(orders_.front());
  orders_.pop_front();
  return order;
}

void parent_link::settle() { const std::lock_guard lock{answering_}; }

void parent_link::send(const std::string& line) {
  const std::lock_guard lock{writing_};
  const std::string whole = line + '\n';
  for (std::size_t done = 0; done < whole.size();) {
    const auto count = ::write(STDOUT_FILENO, whole.data() + done, whole.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) std::_Exit(EXIT_FAILURE);  // the tour is gone
    done += static_cast<std::size_t>(count);
  }
}

void parent_link::read() {
  for (std::string line; std::getline(std::cin, line);) obey(line);
  if (!leaving_) std::_Exit(EXIT_FAILURE);  // the tour is gone
}

void parent_link::obey(std::string_view line) {
  const auto command = next_word(line);
  if (command == "linger") linger_ = true;
  if (command == "stop") stop_.request_stop();
  if (command == "do") {
    const std::lock_guard lock{ordering_};
    orders_.emplace_back(line);
    ordered_.notify_one();
  }
  if (command != "answer") return;
  const auto id = parse_number(next_word(line));
  // The mutex is held until the fiber has been woken: see `settle`.
  const std::lock_guard lock{answering_};
  if (const auto question = questions_.find(id); question != questions_.end()) {
    question->second.set_value(line == "yes");
    questions_.erase(question);
  }
}

}  // namespace tour
