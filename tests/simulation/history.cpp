// SPDX-License-Identifier: Apache-2.0
#include "simulation/history.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

client_options options_of(const history_plan& plan) {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(plan.timeout);
  client_options options;
  options.session_timeout = options.connect_timeout = timeout;
  options.label = "history";
  if (plan.tells_tick) options.server_tick = std::chrono::ceil<std::chrono::milliseconds>(plan.weather.tick);
  options.report_waits_after = std::chrono::duration_cast<std::chrono::milliseconds>(plan.long_wait);
  return options;
}

/// Of the deletion of a node whose creation has yet to be answered: that answer, a moment, a read.
duration time_to_learn(const history_plan& plan) {
  return detail::own_nodes::youth + plan.weather.slowest_answer(plan.timeout) * 2;
}

}  // namespace

history::history(const history_plan& plan)
    : plan_{plan},
      time_{plan.seed},
      ensemble_{time_, plan.weather},
      network_{time_, plan.datagrams},
      queues_{ensemble_, queue_paths(), *this},
      deletions_{time_to_learn(plan), plan.timeout} {
  faults_until_ = time_.now() + plan_.faults;
  faults_.emplace(ensemble_, playground());
  ensemble_.create("/data");
  for (unsigned lock = 0; lock < plan_.locks.size(); ++lock) ensemble_.create(data_path(lock));
  if (plan_.a_client_dies) records_.emplace();
  for (unsigned i = 0; i < plan_.clients; ++i) {
    auto* const network = plan_.direct > 0 && time_.random().chance(plan_.direct) ? &network_ : nullptr;
    auto records = plan_.a_client_dies && i == 0 ? open_records() : std::nullopt;
    clients_.push_back(
        std::make_unique<simulated_client>(ensemble_, options_of(plan_), std::string{}, network, std::move(records)));
    clients_.back()->core()->reaper().gather_beyond(plan_.gather_beyond);
    if (plan_.locks[0].settings.family == lock_family::keys) add_table(plan_.locks[0].settings);
    for (unsigned lock = 0; lock < plan_.locks.size(); ++lock) {
      for (unsigned object = 0; object < plan_.objects; ++object) add_object(i, lock);
    }
  }
  for (const auto& each : clients_) {
    if (plan_.careless > 0 && time_.random().chance(plan_.careless)) be_careless(*each);
  }
  if (plan_.a_client_closes) {
    auto& client = *clients_[time_.random().below(clients_.size())];
    as_user(client, time_.random().between({}, plan_.faults), [this, &client] {
      tell("a client is closed early");
      closed_early_ = &client;
      client.close();
    });
  }
  if (plan_.a_client_dies) time_.after(time_.random().between({}, plan_.faults), [this] { kill(); });
}

std::optional<detail::session_file> history::open_records() const {
  return detail::session_file{*records_ / "session", detail::session_file::purpose::keep};
}

/// The first client, unless all faults have ended; its process is started again, which ends its session, sooner than the ensemble would.
void history::kill() {
  if (faults_until_ == time_point{}) return;
  tell("the process of a client is killed");
  auto& killed = *clients_.front();
  closed_early_ = &killed;
  log_.killed = killed.run([&] { return killed.core()->session().info().id; });
  killed.die();
  time_.after(time_.random().between({}, plan_.timeout / 4), [this] {
    tell("it is started again");
    clients_.push_back(
        std::make_unique<simulated_client>(ensemble_, options_of(plan_), std::string{}, nullptr, open_records()));
  });
  time_.after(plan_.timeout / 2, [this] { log_.ended_early = log_.killed != 0 && !ensemble_.alive(log_.killed); });
}

void history::add_object(unsigned client, unsigned lock) {
  const auto& plan = plan_.locks[lock];
  auto settings = plan.settings;
  if (plan.mixed) settings.family = time_.random().coin() ? lock_family::fair : lock_family::turns;
  if (settings.family == lock_family::turns && plan.robust > 0 && time_.random().chance(plan.robust))
    settings.family = lock_family::robust;
  if (plan_.groups > 0 && time_.random().chance(plan_.groups)) make_group(settings, lock);
  settings.how = draw_hand_off();
  const auto number = static_cast<unsigned>(objects_.size());
  auto& object = *objects_.emplace_back(make_object(client, lock, settings));
  object.client_number = client;
  object.number = number;
  object.lock = lock;
  object.plan = &plan;
  for (unsigned caller = 0; caller < plan_.callers; ++caller) {
    auto& who = *actors_.emplace_back(std::make_unique<actor>());
    who.object = &object;
    who.fiber = actors_.size();
    who.calls_left = plan_.calls;
    who.awaits = plan_.awaited > 0 && time_.random().chance(plan_.awaited);
    think(who);
  }
}

/// With this lock as the first, and others in any order.
void history::make_group(lock_settings& settings, unsigned lock) {
  auto& random = time_.random();
  settings.family = random.below(3) == 0 ? lock_family::any : lock_family::group;
  settings.turns = 1;
  const auto count = static_cast<unsigned>(plan_.locks.size());
  const auto members = 2 + static_cast<unsigned>(random.below(count - 1));
  for (unsigned i = 0; i < members; ++i) {
    const auto each = (lock + i) % count;
    auto kind = detail::contender_kind::lock;
    if (plan_.locks[each].settings.family == lock_family::shared && settings.family == lock_family::group) {
      kind = random.chance(plan_.locks[each].readers) ? detail::contender_kind::read : detail::contender_kind::write;
    }
    settings.members.push_back({lock_path(each), kind});
  }
}

std::unique_ptr<history::lock_object> history::make_object(unsigned client, unsigned lock,
                                                           const lock_settings& settings) {
  auto& of = *clients_[client];
  if (tables_.empty()) return std::make_unique<lock_object>(of, lock_path(lock), settings);
  return std::make_unique<lock_object>(of, tables_[client], lock_name(lock), settings);
}

/// All keys of a client are in one table.
void history::add_table(const lock_settings& settings) {
  tables_.push_back(clients_.back()->key_table(
      "/locks",
      {.turns = settings.turns, .linger = settings.linger, .max_hold = settings.max_hold, .how = draw_hand_off()}));
}

hand_off history::draw_hand_off() {
  if (plan_.direct == 0 || !time_.random().chance(plan_.direct)) return hand_off::ensemble;
  return time_.random().coin() ? hand_off::direct : hand_off::direct_then_sync;
}

history::~history() {
  for (const auto& each : objects_) each->handle.shut();
}

std::string history::queue_path(unsigned lock) const {
  const bool counts = plan_.locks[lock].settings.family == lock_family::permits;
  return lock_path(lock) + (counts ? "/leases" : "");
}

std::vector<std::string> history::queue_paths() const {
  std::vector<std::string> paths;
  for (unsigned lock = 0; lock < plan_.locks.size(); ++lock) paths.push_back(queue_path(lock));
  return paths;
}

/// @returns the paths with nodes of clients.
std::vector<std::string> history::playground() const {
  auto paths = queue_paths();
  for (unsigned lock = 0; lock < plan_.locks.size(); ++lock) {
    if (plan_.locks[lock].settings.family == lock_family::permits) paths.push_back(lock_path(lock) + "/locks");
  }
  return paths;
}

std::size_t history::requests(std::optional<request_kind> kind) const {
  std::size_t sum = 0;
  for (const auto& each : clients_) sum += kind ? each->connector().sent(*kind) : each->connector().sent();
  return sum;
}

void history::tell_to(std::function<void(const std::string&)> listener) {
  listener_ = std::move(listener);
  ensemble_.trace_to([this](const std::string& line) { tell(line); });
}

void history::tell(const std::string& line) {
  if (listener_)
    listener_(fmt::format("{:.6f}s #{} {}", std::chrono::duration<double>(time_.now().time_since_epoch()).count(),
                          time_.steps(), line));
}

// What is watched

/// After every step: reads without a trace, since a look at a grant may end it.
void history::observe() {
  queues_.catch_up();
  if (plan_.operators) observe_operators();
  if (!commits_.empty()) observe_commits();
  while (finish_calls()) {  // one that is destroyed passes the lock on
  }
  for (const auto& each : actors_) {
    if (each->held != grant{}) look_at_hold(*each);
    if (each->held.valid_until() <= time_.now()) continue;
    for (std::size_t i = 0; i < each->nodes.size(); ++i) {
      log_.grants[each->grant_number + i].last_valid = time_.steps();
      log_.grants[each->grant_number + i].last_valid_at = time_.now();
    }
  }
}

/// @returns whether there was one.
bool history::finish_calls() {
  bool any = false;
  for (const auto& each : actors_) {
    const bool concluded = each->call && each->call->what != detail::waiter::outcome::waiting;
    const bool awaited = each->awaited && each->ended.at;
    if (concluded) finish_call(*each);
    if (awaited) finish_await(*each);
    any = any || concluded || awaited;
  }
  return any;
}

bool history::all_done() const {
  return std::all_of(actors_.begin(), actors_.end(), [](const auto& each) { return each->done; });
}

bool history::step_until(time_point end, const std::function<bool()>& done) {
  while (!done()) {
    const auto next = time_.next_time();
    if (!next || *next > end) return false;
    time_.step();
    observe();
  }
  return true;
}

const history_log& history::run() {
  step_until(faults_until_, [this] { return all_done(); });
  faults_until_ = {};
  tell("all faults end");
  ensemble_.heal();
  // What is lost expires, what is disconnected reconnects; then all take their turns.
  const auto calls = static_cast<int>(plan_.callers_in_all() * plan_.calls);
  auto patience = plan_.timeout * 6 + calls * (plan_.longest_hold + plan_.longest_thought * 2 + 200ms);
  if (plan_.weather.lose_every > duration::zero()) patience += calls * plan_.long_wait * 4;  // they look ever later
  step_until(time_.now() + patience, [this] { return all_done(); });
  for (const auto& each : actors_) {  // who still waits has waited too long
    each->call = nullptr;
    if (each->awaited) std::exchange(each->awaited, nullptr)->abandon();
  }
  step_until(time_.now() + plan_.timeout * 3, [] { return false; });
  // What keeps the lease ready is never done, but soon answered.
  step_until(time_.now() + plan_.timeout, [this] {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const auto& each) { return each->closed() || each->unfinished().empty(); });
  });
  collect_leftovers();
  close_clients();
  collect_writes();
  collect_deaths();
  if (plan_.operators) excuse_grants();
  return log_;
}

void history::collect_leftovers() {
  for (const auto& path : playground()) {
    for (const auto& name : ensemble_.children(path)) {
      if (detail::parse_contender(name)) log_.leftovers.push_back("node " + path + "/" + name);
    }
  }
  for (const auto& each : tables_) {
    if (each->size() != 0) log_.leftovers.push_back("objects of keys");
  }
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i]->closed()) continue;  // what it could not do in time, the end of its session does
    if (const auto what = clients_[i]->unfinished(); !what.empty()) {
      log_.leftovers.push_back(fmt::format("{} of client {}", what, i));
    }
  }
}

void history::close_clients() {
  for (const auto& each : clients_) {
    if (!each->closed()) each->close();
  }
  step_until(time_.now() + 10s, [this] {
    return std::all_of(clients_.begin(), clients_.end(), [](const auto& each) { return each->closed(); });
  });
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (!clients_[i]->closed()) log_.leftovers.push_back(fmt::format("client {}, which does not close", i));
  }
  for (const auto& session : ensemble_.leader().sessions()) {
    if (!session->over) log_.leftovers.push_back(fmt::format("session {:x}", session->id));
  }
}

}  // namespace latchkey::testing
