// SPDX-License-Identifier: Apache-2.0
#include "mixed.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace latchkey::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t fewer = 3;
#else
constexpr std::size_t fewer = 1;
#endif

}  // namespace

std::size_t scaled(std::size_t rounds) {
  const bool all = std::getenv("LATCHKEY_LONG") != nullptr;
  return rounds / (all ? 1 : 4) / fewer;
}

plan exclusively(std::string path, std::size_t count, std::chrono::microseconds hold) {
  return {std::move(path), count, hold, {"mutex,reentrant,linger", "fair"}, "mutex", "mutex"};
}

plan reading_and_writing(std::string path, std::size_t count, std::chrono::microseconds hold) {
  const std::string both = "read,read,write";
  return {std::move(path), count, hold, {"read,read,write,read,downgrade", both}, both, both};
}

mixed_contenders::mixed_contenders(std::chrono::milliseconds session_timeout, lineup who) : lineup_{who} {
  const auto add = [&](std::size_t count, const char* prefix, std::unique_ptr<peer> (*begin)(), std::size_t in_one) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i % in_one == 0) processes_.push_back(begin());
      auto& where = *processes_.back();
      all_.push_back(
          {&where,
           std::make_unique<contender_there>(where, fresh_name(prefix), servers().connect_string(), session_timeout),
           false});
    }
  };
  add(who.latchkey, "latchkey", start_latchkey, 1);
  add(who.curator, "curator", start_curator, 2);
  add(who.kazoo, "kazoo", start_kazoo, 1);
}

void mixed_contenders::start(const plan& what, history& into) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const bool is_ours = i < lineup_.latchkey;
    const bool is_curator = !is_ours && i < lineup_.latchkey + lineup_.curator;
    const auto& kinds = is_ours ? what.latchkey[i % what.latchkey.size()] : is_curator ? what.curator : what.kazoo;
    if (kinds.empty()) continue;
    all_[i].busy = true;
    all_[i].who->say(
        fmt::format("rounds {} {} {} {} {}", what.path, what.count, into.path(), what.hold.count(), kinds));
  }
}

void mixed_contenders::join() {
  for (auto& each : all_) {
    if (each.busy) each.who->answer(patience() * 8);  // after thousands of rounds
    each.busy = false;
  }
}

void mixed_contenders::stop() {
  for (auto& each : all_) {
    if (each.busy) each.who->say("stop");
  }
  join();
}

bool mixed_contenders::all_go_on(history& seen, std::size_t more) {
  const auto before = seen.grants();
  return eventually([&] {
    for (auto& each : all_) {
      if (!each.busy || !each.who->answered()) continue;
      each.who->answer(patience());  // throws what it has failed with
      each.busy = false;
    }
    const auto now = seen.grants();
    return std::all_of(all_.begin(), all_.end(), [&](const one& each) {
      if (!each.busy) return true;
      const auto count = [&](const auto& grants) {
        const auto found = grants.find(each.who->name());
        return found == grants.end() ? 0 : found->second;
      };
      return count(now) >= count(before) + more;
    });
  });
}

void mixed_contenders::kill(const std::string& name, history& into) {
  const auto chosen = std::find_if(all_.begin(), all_.end(), [&](const one& each) { return each.who->name() == name; });
  chosen->where->kill();
  for (auto& each : all_) {
    if (each.where != chosen->where) continue;
    each.busy = false;
    into.killed(each.who->name());
  }
}

void expire(contender_there& who, history& into) {
  const auto session = who.session();
  into.expired(session);
  CHECK(servers().expire(session));
}

void check_all_go_on_without_leader(mixed_contenders& all, history& seen) {
  const auto leader = servers().wait_for_leader(patience());
  servers().kill(leader);
  CHECK(all.all_go_on(seen, 5));
  servers().start(leader);
  CHECK(all.all_go_on(seen, 5));
}

}  // namespace latchkey::testing
