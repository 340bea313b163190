// SPDX-License-Identifier: Apache-2.0
#include "client_nemesis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace chaos {

using namespace std::chrono_literals;
using latchkey::testing::opcode;

client_nemesis::client_nemesis(latchkey::testing::ensemble* servers, std::vector<worker_slot*> workers, fault_log& log,
                               std::uint64_t seed, repertoire what)
    : servers_{servers}, workers_{std::move(workers)}, log_{log}, dice_{seed} {
  using self = client_nemesis;
  const auto add = [this](std::initializer_list<fault_of_worker> some) { faults_.insert(faults_.end(), some); };
  if (what == repertoire::of_operator) longest_pause_ = 500ms;
  if (what != repertoire::common) add({&self::delete_node, &self::delete_node, &self::delete_path});
  if (what != repertoire::of_operator) {
    add({&self::cut, &self::black_hole, &self::black_hole, &self::lose_server, &self::disconnect, &self::delay,
         &self::stop_process, &self::stop_process, &self::kill_process, &self::kill_process, &self::black_hole_all});
  }
  if (what == repertoire::usual || what == repertoire::and_expiries) {
    add({&self::lose_request, &self::lose_reply, &self::hold_reply, &self::set_clock, &self::set_clock,
         &self::starve_process});
  }
  if (what == repertoire::and_expiries) add({&self::expire_session, &self::expire_session});
}

void client_nemesis::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    sleep(dice_.between(200ms, longest_pause_), stop);
    if (stop.stop_requested()) break;
    for (auto* each : workers_) each->look_after();
    auto& victim = some_worker();
    try {
      (this->*faults_[dice_.one_of(faults_.size())])(victim, stop);
    } catch (const latchkey::testing::cluster_error& failure) {
      log_.tell("chaos", event_kind::note, fmt::format("a fault of {} went wrong: {}", victim.name(), failure.what()));
      mend();
    }
  }
  mend();
}

void client_nemesis::mend() {
  for (auto* each : workers_) each->net().heal();
}

void client_nemesis::cut(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "cut worker", victim.name()};
  victim.net().cut();
  sleep(dice_.some_time(victim.session_timeout()), stop);
  victim.net().heal();
}

void client_nemesis::black_hole(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "black hole", victim.name()};
  victim.net().black_hole();
  sleep(dice_.some_time(victim.session_timeout()), stop);
  victim.net().heal();
}

void client_nemesis::lose_server(worker_slot& victim, const std::stop_token& stop) {
  const auto server = victim.net().connected_server();
  const bool hole = dice_.one_of(2) == 0;
  const auto time = dice_.some_time(victim.session_timeout());
  if (!server) return;
  const ongoing fault{log_, hole ? "black hole to one server" : "cut from one server", victim.name()};
  hole ? victim.net().black_hole(*server) : victim.net().cut(*server);
  sleep(time, stop);
  victim.net().heal();
}

void client_nemesis::disconnect(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "disconnect", victim.name()};
  for (auto times = 1 + dice_.one_of(5); times > 0; --times) {
    victim.net().disconnect();
    sleep(dice_.between(0ms, 300ms), stop);
  }
}

void client_nemesis::delay(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "delay", victim.name()};
  const auto time = dice_.some_time(victim.session_timeout());
  victim.net().delay(dice_.between(5ms, victim.session_timeout() / 5));
  sleep(time, stop);
  victim.net().heal();
}

void client_nemesis::lose_request(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "lose request", victim.name()};
  victim.net().drop_next(some_operation());
  sleep(dice_.some_time(victim.session_timeout()), stop);
  victim.net().heal();
}

void client_nemesis::lose_reply(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "lose reply", victim.name()};
  victim.net().drop_reply_of_next(some_operation());
  sleep(dice_.some_time(victim.session_timeout()), stop);
  victim.net().heal();
}

void client_nemesis::hold_reply(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "hold reply", victim.name()};
  victim.net().hold_reply_of_next(dice_.one_of(3) == 0 ? opcode::notification : some_operation());
  sleep(dice_.some_time(victim.session_timeout()), stop);
  victim.net().heal();
}

void client_nemesis::stop_process(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "stop worker", victim.name()};
  victim.process().pause();
  sleep(dice_.some_time(victim.session_timeout()), stop);
  victim.process().resume();
}

/// It runs for 5 ms of each 50 ms, and not when it wants to.
void client_nemesis::starve_process(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "starve worker", victim.name()};
  const auto end = clock::now() + dice_.some_time(victim.session_timeout());
  while (clock::now() < end && !stop.stop_requested()) {
    victim.process().pause();
    sleep(45ms, stop);
    victim.process().resume();
    sleep(5ms, stop);
  }
}

void client_nemesis::kill_process(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "kill worker", victim.process_name()};
  victim.kill();
  sleep(dice_.some_time(victim.session_timeout()), stop);
  victim.start();
}

/// Its wall clock jumps, forth or back by up to a day, and back again in the end.
void client_nemesis::set_clock(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "set clock of worker", victim.name()};
  for (auto times = 1 + dice_.one_of(5); times > 0; --times) {
    victim.process().say(fmt::format("clock {}", dice_.between(-24h, 24h).count()));
    sleep(dice_.some_time(victim.session_timeout() / 4), stop);
  }
  victim.process().say("clock 0");
}

void client_nemesis::black_hole_all(worker_slot& victim, const std::stop_token& stop) {
  const ongoing fault{log_, "black hole for many", workers_.size() == 1 ? victim.name() : "workers"};
  for (auto* each : workers_) each->net().black_hole();
  sleep(dice_.some_time(victim.session_timeout()), stop);
  mend();
}

void client_nemesis::expire_session(worker_slot& victim, const std::stop_token&) {
  const auto session = victim.net().last_session();
  if (!session) return;
  const ongoing fault{log_, "expire session", victim.name(), true};
  servers_->expire(*session);
}

worker_slot& client_nemesis::some_worker() {
  const auto first = dice_.one_of(workers_.size());
  const bool holder = dice_.one_of(2) == 0;
  for (std::size_t i = 0; holder && i < workers_.size(); ++i) {
    auto& each = *workers_[(first + i) % workers_.size()];
    if (each.holds()) return each;
  }
  return *workers_[first];
}

opcode client_nemesis::some_operation() {
  static constexpr std::array all{opcode::create2,  opcode::remove,        opcode::multi, opcode::get_children2,
                                  opcode::get_data, opcode::get_children2, opcode::sync};
  return all[dice_.one_of(all.size())];
}

}  // namespace chaos
