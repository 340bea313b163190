// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A calm ensemble, and an operator who deletes nodes.

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/path.hpp"
#include "recipes/rules.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;
using detail::reply_code;

/// A moment, a read and its answer on a calm ensemble.
inline constexpr auto soon = 10ms + 5ms;

struct operated_world : calm_world {
  simulated_client three{ensemble};
  simulated_lock another{one, "/another", {lock_family::turns}};

  /// @param proofs the first client holds another lock, so that its session is proved all the time
  explicit operated_world(bool proofs = true, std::uint64_t seed = 1) : calm_world{seed} {
    three.connect();
    if (proofs) REQUIRE(ends(another.enter(99, contender_kind::lock), outcome::granted));
  }

  /// The nodes in the order of their numbers.
  std::vector<std::string> nodes() {
    auto names = ensemble.children("/q");
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
      return detail::parse_contender(a)->number < detail::parse_contender(b)->number;
    });
    for (auto& each : names) each = "/q/" + each;
    return names;
  }
  void remove(const std::string& node) { REQUIRE(ensemble.remove(node) == reply_code::ok); }
  void remove_path() {
    for (const auto& each : nodes()) remove(each);
    remove("/q");
  }
  /// The first client watches so many other nodes that there is no room for its own. @returns those
  std::vector<std::string> use_up_watches() {
    std::vector<std::string> others;
    for (int i = 0; i < 530; ++i) others.push_back("/" + std::string(1000, 'x') + std::to_string(i));
    for (const auto& each : others) REQUIRE(ensemble.create(each) == reply_code::ok);
    time.run_for(100ms);
    one.run([&] {
      for (const auto& each : others) {
        one.core()->session().submit(
            {.kind = operation::get, .path = each}, [](auto&) {}, [](auto) {});
      }
    });
    return others;
  }
  /// A contender of others takes the first number of the path, which is created again.
  std::string take_over() {
    ensemble.create_container("/q");
    auto first = intrude("-lock-", 0);
    ensemble.set_counter("/q", 1);
    return first;
  }
};

}  // namespace latchkey::testing
