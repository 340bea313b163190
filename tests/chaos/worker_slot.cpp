// SPDX-License-Identifier: Apache-2.0
#include "worker_slot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace chaos {

worker_slot::worker_slot(worker_options how, const std::vector<latchkey::testing::endpoint>& servers, fault_log& log)
    : how_{std::move(how)}, log_{log}, net_{servers}, dice_{how_.seed} {}

void worker_slot::start() {
  static constexpr std::array timeouts{1'000, 1'000, 2'000, 2'000, 3'000, 4'000, 6'000};
  static constexpr std::array of_every_service{4'000, 6'000, 10'000};  // etcd has none below 2 s
  static constexpr std::array<std::uint32_t, 3> turns{1, 2, 16};
  static constexpr std::array lingers{5, 50, 400};
  if (count_ > 0 && how_.program.empty() && !session_file_of(how_.name, how_.folder).empty()) {
    log_.add({clock::now(), clock::now(), "end session of the dead", process_name(), true, -1});
  }
  ++count_;
  how_.session_timeout = std::chrono::milliseconds{how_.common ? of_every_service[dice_.one_of(of_every_service.size())]
                                                               : timeouts[dice_.one_of(timeouts.size())]};
  how_.turns = turns[dice_.one_of(turns.size())];
  how_.linger = std::chrono::milliseconds{lingers[dice_.one_of(lingers.size())]};
  process_.start(how_.program.empty() ? own_command() : command_of_other(),
                 {.log = how_.folder / (process_name() + ".log")});
}

std::vector<std::string> worker_slot::own_command() const {
  std::vector<std::string> command{"/proc/self/exe", "worker", process_name()};
  const auto add = [&](const char* option, std::string value) {
    command.emplace_back(option);
    command.push_back(std::move(value));
  };
  add("--folder", how_.folder.string());
  add("--connect", net_.connect_string());
  add("--session-timeout", std::to_string(how_.session_timeout.count()));
  add("--seed", std::to_string(seed()));
  add("--turns", std::to_string(how_.turns));
  add("--linger", std::to_string(how_.linger.count()));
  add("--families", to_string(how_.families));
  add("--threads", std::to_string(how_.threads));
  add("--fibers", std::to_string(how_.fibers));
  if (how_.peers) command.emplace_back("--peers");
  if (how_.log) command.emplace_back("--log");
  return command;
}

/// See others/worker.py. Not every language can read CLOCK_BOOTTIME.
std::vector<std::string> worker_slot::command_of_other() const {
  const auto monotonic = std::chrono::steady_clock::now().time_since_epoch();
  const auto since_boot = clock::now().time_since_epoch();
  auto command = how_.program;
  for (auto& each :
       {process_name(), how_.folder.string(), net_.connect_string(), std::to_string(how_.session_timeout.count()),
        std::to_string(seed()), std::to_string(how_.families.size()), std::to_string(how_.threads * how_.fibers),
        std::to_string((since_boot - monotonic).count())}) {
    command.push_back(each);
  }
  return command;
}

void worker_slot::kill() {
  process_.kill();
  log_.tell(process_name(), event_kind::killed);
  on_death();
}

bool worker_slot::holds() const {
  constexpr std::streamoff enough = 1'024;
  std::ifstream records{how_.folder / (process_name() + ".events"), std::ios::ate};
  const std::streamoff size = records.tellg();
  if (size <= 0) return false;
  records.seekg(std::max<std::streamoff>(0, size - enough));
  const std::string tail{std::istreambuf_iterator<char>{records}, {}};
  const auto end = tail.rfind('\n');
  if (end == std::string::npos || end == 0) return false;
  const auto begin = tail.rfind('\n', end - 1);
  if (begin == std::string::npos) return false;
  const auto newest = parse_event(std::string_view{tail}.substr(begin + 1, end - begin - 1)).kind;
  return newest == event_kind::granted || newest == event_kind::held || newest == event_kind::entered ||
         newest == event_kind::wrote || newest == event_kind::weakens;
}

void worker_slot::on_death() {
  sessions_over_at_ = std::max(sessions_over_at_, clock::now() + 2 * how_.session_timeout);
}

void worker_slot::look_after() {
  const auto ending = process_.wait(std::chrono::milliseconds{0});
  if (!ending) return;
  log_.tell(process_name(), event_kind::crashed, *ending);
  on_death();
  start();
}

std::string worker_slot::process_name() const { return fmt::format("{}.{}", how_.name, count_); }

}  // namespace chaos
