// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace latchkey::testing {
namespace {

using detail::never;

/// So many steps without time going on are a loop in the system under test.
constexpr std::uint64_t most_steps_at_once = 1'000'000;

}  // namespace

simulation::simulation(std::uint64_t seed, time_point begin) : seed_{seed}, random_{seed}, now_{begin}, processes_(1) {
  heap_.reserve(128);
  slots_.reserve(128);
}

void simulation::at(time_point time, action what) {
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::move(what));
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = std::move(what);
  }
  heap_.push_back({std::max(time, now_), ++made_, slot});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

process_id simulation::attach(timer_source source) {
  processes_.push_back({std::move(source), {}});
  return process_id{processes_.size() - 1};
}

void simulation::detach(process_id process) { processes_[static_cast<std::size_t>(process)].source = {}; }

void simulation::pause(process_id process, time_point until) {
  auto& paused_until = processes_[static_cast<std::size_t>(process)].paused_until;
  paused_until = std::max(paused_until, until);
}

time_point simulation::resumes_at(process_id process) const noexcept {
  return std::max(now_, processes_[static_cast<std::size_t>(process)].paused_until);
}

simulation::due_timer simulation::first_timer() const {
  due_timer first{never, 0};
  for (std::size_t i = 1; i < processes_.size(); ++i) {
    const auto& each = processes_[i];
    if (!each.source.next) continue;
    const auto next = each.source.next();
    if (!next) continue;
    const auto time = std::max({*next, each.paused_until, now_});
    if (time < first.time) first = {time, i};
  }
  return first;
}

std::optional<time_point> simulation::next_time() const {
  auto time = first_timer().time;
  if (!heap_.empty()) time = std::min(time, heap_.front().time);
  if (time == never) return std::nullopt;
  return time;
}

bool simulation::step() {
  const auto timer = first_timer();
  const auto event_time = heap_.empty() ? never : heap_.front().time;
  const auto time = std::min(timer.time, event_time);
  if (time == never) return false;
  advance(time);
  const bool timer_first = timer.time < event_time || (timer.time == event_time && random_.coin());
  if (timer_first) {
    processes_[timer.process].source.run_due();
  } else {
    run_event();
  }
  return true;
}

void simulation::advance(time_point time) {
  steps_at_this_time_ = time == now_ ? steps_at_this_time_ + 1 : 0;
  if (steps_at_this_time_ > most_steps_at_once) {
    throw std::logic_error{"simulation: time stands still, seed " + std::to_string(seed_)};
  }
  now_ = time;
  ++steps_;
}

void simulation::run_event() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const auto slot = heap_.back().slot;
  heap_.pop_back();
  const auto what = std::move(slots_[slot]);
  slots_[slot] = nullptr;
  free_slots_.push_back(slot);
  what();
}

void simulation::run_until(time_point end) {
  while (true) {
    const auto next = next_time();
    if (!next || *next > end) break;
    step();
  }
  now_ = std::max(now_, end);
}

}  // namespace latchkey::testing
