// SPDX-License-Identifier: Apache-2.0
#include "script.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include <latchkey/client.hpp>

namespace tour {

using namespace std::chrono_literals;

namespace {

constexpr int worker_count = 3;
constexpr auto session_timeout = 4'000ms;
constexpr auto foreign_session_timeout = 10'000ms;
constexpr auto foreign_time = 8'000ms;

}  // namespace

script::script(script_options how, std::stop_token stop) : how_{std::move(how)}, stop_{std::move(stop)} {
  timeline_.say(fmt::format("{:>6} | {:<5} | {:<62} | {}", "ms", "who", "what", "fencing token"));
}

script::~script() {
  store_.close();
  for (auto& worker : workers_)
    worker->end();  // all, before any is destroyed: the store answers one from another's thread
}

summary script::run() {
  try {
    start_ensemble();
    start_workers();
    watch_everybody_get_it();
    if (ensemble_) {
      kill_the_leader();
      let_a_session_expire();
    } else {
      watch_for_a_while();
    }
    end_workers();
    share_a_lock();
  } catch (const give_up&) {
  }
  end_workers();
  return summarise(record_.events());
}

// The steps
// ------------------------------------------------------------------------------------------------------------

void script::start_ensemble() {
  if (!how_.connect_string.empty()) {
    say("uses the ensemble " + how_.connect_string);
    latchkey::client probe{how_.connect_string};
    if (!probe.wait_for_connection(patience)) {
      throw std::runtime_error{fmt::format("no server of {} has answered in {}", how_.connect_string, patience)};
    }
    return say("it is there; it is not ours: no fault is made");
  }
  say("starts three ZooKeeper servers on this machine");
  ensemble_ = std::make_unique<latchkey::testing::ensemble>();
  network_ = std::make_unique<latchkey::testing::proxy>(ensemble_->addresses());
  say(fmt::format("they serve {}, server {} leads", ensemble_->connect_string(), ensemble_->wait_for_leader(patience)));
  if (stop_.stop_requested()) throw give_up{};
}

void script::start_workers() {
  for (int i = 1; i <= worker_count; ++i) {
    start_worker(fmt::format("w{}", i), ensemble_ && i == worker_count ? network_->connect_string() : servers());
  }
  say(fmt::format("starts {} worker processes, of three fibers on two threads each", worker_count));
}

void script::watch_everybody_get_it() {
  expect("every fiber has had the lock", patience, [](const events& all) {
    std::set<std::string> holders;
    for (const auto& what : all) {
      if (what.kind == event_kind::granted) holders.insert(what.who);
    }
    return holders.size() == 3 * worker_count;
  });
}

void script::kill_the_leader() {
  const auto killed = ensemble_->wait_for_leader(patience);
  say(fmt::format("kills the leader, server {}", killed));
  ensemble_->kill(killed);
  const auto elected = ensemble_->wait_for_leader(patience);
  say(fmt::format("server {} leads now", elected));
  const auto since = clock::now();
  expect("the lock goes on changing hands under the new leader", patience, [&](const events& all) {
    return std::count_if(all.begin(), all.end(),
                         [&](const event& what) { return what.kind == event_kind::granted && what.at > since; }) >= 3;
  });
  say(fmt::format("starts server {} again", killed));
  ensemble_->start(killed);
  say(fmt::format("server {} serves again", killed));
}

void script::let_a_session_expire() {
  auto& victim = *workers_.back();
  const auto since = clock::now();
  say(fmt::format("asks the next holder in {} to keep the lock", victim.name()));
  victim.send("linger");
  const auto held = expect_event("it takes the lock and keeps it", patience, [&](const event& what) {
    return what.kind == event_kind::granted && process_of(what.who) == victim.name() && !what.text.empty();
  });
  const auto is_its = [&](event_kind kind) {
    return [&, kind](const event& what) { return what.kind == kind && what.token == held.token; };
  };
  say(fmt::format("cuts {} off: its connections stay open, nothing passes", victim.name()));
  network_->black_hole();
  const auto lost = expect_event("the holder sees that it has lost the lock", patience, is_its(event_kind::lost));
  expect_event("the stop token of its grant is asked to stop", patience, is_its(event_kind::stop_requested));
  expect_end_of(held.session);
  const auto next = expect_event("the lock passes to another process", patience, [&](const event& what) {
    return what.kind == event_kind::granted && what.at > since && *held.token < *what.token;
  });
  if (next.at < lost.at) fail("the next holder came before the loss was seen");
  expect_event("the store refuses the old token", patience, is_its(event_kind::refused));
  say(fmt::format("mends the connection of {}", victim.name()));
  network_->heal();
  expect_event("it comes back in a new session", patience, [&](const event& what) {
    return what.kind == event_kind::granted && process_of(what.who) == victim.name() && *held.token < *what.token;
  });
}

void script::watch_for_a_while() { pause(foreign_time); }

void script::end_workers() {
  store_.close();
  if (network_) network_->heal();
  if (!workers_.empty()) say("asks the workers to stop");
  for (auto& worker : workers_) worker->send("stop");
  for (auto& worker : workers_) {
    const auto ending = worker->wait(patience);
    if (!ending) fail(worker->name() + " does not end");
    if (ending && *ending != "exit code 0") fail(worker->name() + " ended with " + *ending);
  }
  for (auto& worker : workers_) worker->end();
  workers_.clear();
}

// Their means
// ----------------------------------------------------------------------------------------------------------

void script::expect(const std::string& what, std::chrono::milliseconds timeout,
                    const std::function<bool(const events&)>& done) {
  const auto failed = [](const event& one) { return one.kind == event_kind::failed; };
  const bool ended = record_.wait_until(
      stop_, timeout, [&](const events& all) { return done(all) || std::any_of(all.begin(), all.end(), failed); });
  if (ended && done(record_.events())) return;
  if (!ended && !stop_.stop_requested()) fail("did not happen in time: " + what);
  throw give_up{};
}

event script::expect_event(const std::string& what, std::chrono::milliseconds timeout,
                           const std::function<bool(const event&)>& wanted) {
  event found;
  expect(what, timeout, [&](const events& all) {
    const auto at = std::find_if(all.begin(), all.end(), wanted);
    if (at != all.end()) found = *at;
    return at != all.end();
  });
  return found;
}

void script::start_worker(const std::string& name, const std::string& connect_string, std::vector<std::string> more) {
  const auto timeout = ensemble_ ? session_timeout : foreign_session_timeout;
  std::vector<std::string> command{"/proc/self/exe",
                                   "worker",
                                   name,
                                   "--connect",
                                   connect_string,
                                   "--session-timeout",
                                   fmt::format("{}", timeout.count())};
  std::move(more.begin(), more.end(), std::back_inserter(command));
  if (how_.log) command.emplace_back("--log");
  workers_.push_back(std::make_unique<worker_process>(
      name, command, [this](worker_process& from, std::string_view line) { on_line(from, line); }));
}

/// What the leader knows of is what counts.
void script::expect_end_of(std::int64_t session) {
  const auto end = clock::now() + patience;
  for (bool there = true; there;) {
    if (stop_.stop_requested()) throw give_up{};
    if (clock::now() > end) {
      fail("the ensemble does not end the session of the holder");
      throw give_up{};
    }
    std::this_thread::sleep_for(20ms);
    const auto known = ensemble_->admin(ensemble_->wait_for_leader(patience)).dump().sessions;
    there = std::find(known.begin(), known.end(), session) != known.end();
  }
  say(fmt::format("sees that the ensemble has expired session {:#x}", session));
}

void script::on_line(worker_process& from, std::string_view line) {
  try {
    const auto kind = next_word(line);
    if (kind == "event") record_.add(parse_event(line));
    if (kind == "write") write(from, line);
    if (kind == "bye") from.hang_up();
    if (kind == "gone" && !from.hung_up()) fail(from.name() + " has ended too soon");
    if (kind == "overtaken") {
      const std::string id{next_word(line)};
      store_.when_overtaken(latchkey::parse_fencing_token(next_word(line)),
                            [&from, id](bool overtaken) { from.send("answer " + id + (overtaken ? " yes" : " no")); });
    }
  } catch (const std::exception& nonsense) {
    fail(fmt::format("{} says what the tour does not understand: {}", from.name(), nonsense.what()));
  }
}

void script::write(worker_process& from, std::string_view request) {
  const std::string id{next_word(request)};
  const auto token = latchkey::parse_fencing_token(next_word(request));
  const std::string value{request};
  const bool taken = store_.write(token, value);
  event what{.who = "store", .kind = taken ? event_kind::accepted : event_kind::refused, .token = token};
  what.text = fmt::format("the write of {}: it has seen a larger token", value);
  record_.add(std::move(what));
  from.send("answer " + id + (taken ? " yes" : " no"));
}

}  // namespace tour
