// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Semaphores of two clients on a calm ensemble.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recipes/agreed_number.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {

/// One semaphore object, and its callers.
class simulated_semaphore {
 public:
  /// A call, and what it gets.
  struct call {
    std::shared_ptr<detail::waiter> waiter;
    std::shared_ptr<detail::permit_line::wish> wish;

    bool waits() const { return waiter->what == outcome::waiting; }
    bool granted() const { return waiter->what == outcome::granted; }
    bool failed_with(errc code) const { return waiter->what == outcome::failed && waiter->why->code == code; }
    const grant& held() const { return wish->what; }
  };

  simulated_semaphore(simulated_client& client, std::uint32_t permits, detail::cohort_options options = {},
                      bool contract = true)
      : client_{client}, line_{client.permit_line("/s", permits, std::move(options), contract)} {}
  ~simulated_semaphore() { shut(); }
  simulated_semaphore(const simulated_semaphore&) = delete;
  simulated_semaphore& operator=(const simulated_semaphore&) = delete;

  call enter(std::uint32_t count = 1, detail::time_point until = detail::never) {
    auto wish = std::make_shared<detail::permit_line::wish>(detail::permit_line::wish{.count = count});
    auto waiter = client_.run([&] { return line_->enter(1, until, wish); });
    return {std::move(waiter), std::move(wish)};
  }
  call enter_once(std::uint32_t count = 1) { return enter(count, detail::at_once); }
  void cancel(const call& who) {
    client_.run([&] { line_->cancel(who.waiter); });
  }
  void leave(const call& who) {
    client_.run([&] { line_->leave(who.wish->holder); });
  }
  void shut() { line_->shut(); }
  detail::permit_line& line() noexcept { return *line_; }

 private:
  simulated_client& client_;
  const std::shared_ptr<detail::permit_line> line_;
};

struct permit_world : calm_world {
  using call = simulated_semaphore::call;

  explicit permit_world(std::uint32_t permits = 2, detail::cohort_options options = {}, std::uint64_t seed = 1)
      : calm_world{seed}, ours{one, permits, options}, theirs{two, permits, options} {}

  simulated_semaphore ours;
  simulated_semaphore theirs;

  bool ends(const call& what, outcome how) { return calm_world::ends(what.waiter, how); }
  call take(simulated_semaphore& of, std::uint32_t count = 1) {
    auto made = of.enter(count);
    REQUIRE(ends(made, outcome::granted));
    return made;
  }
  /// Lets everything that is under way arrive.
  void settle() { time.run_for(std::chrono::seconds{1}); }
  std::vector<std::string> leases() const { return ensemble.children("/s/leases"); }
  std::vector<std::string> locks() const { return ensemble.children("/s/locks"); }
  std::string record() const { return ensemble.data("/s"); }
  std::string lease(const call& of) const {
    for (const auto& name : leases()) {
      if (ensemble.czxid("/s/leases/" + name) == of.held().fence().czxid) return "/s/leases/" + name;
    }
    return {};
  }
  /// @returns whether nothing is left, at the ensemble or in the clients.
  bool is_clean() {
    settle();
    return leases().empty() && locks().empty() && one.unfinished().empty() && two.unfinished().empty();
  }
};

}  // namespace latchkey::testing
