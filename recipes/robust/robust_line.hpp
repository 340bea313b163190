// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The callers of one `robust_mutex`.

#include <memory>
#include <optional>
#include <string>

#include "queue/long_wait.hpp"
#include "recipes/line/cohort.hpp"
#include "recipes/robust/robust_place.hpp"

namespace latchkey::detail {

/// They share a robust place in turns.
class robust_line final : public cohort {
 public:
  robust_line(std::shared_ptr<client_core> core, std::string path, const cohort_options& options,
              std::chrono::milliseconds lock_delay)
      : cohort{std::move(core), std::move(path), contender_kind::lock, options}, lock_delay_{lock_delay} {
    line_.when_long([this](const long_wait& what) {
      if (place_ && robust().delays()) return;  // it is not held
      look_into_long_wait(*core_, {.lock = path_, .path = path_, .kind = &rule_of(contender_kind::lock)}, what);
    });
  }

  // Without the monitor. As the members of `robust_mutex`:

  std::optional<dead_owner> abandoned() {
    return core_->monitor().run_unless_forked([&] { return in_use() ? before_ : std::nullopt; });
  }
  void recovered() {
    core_->monitor().run_unless_forked([&] {
      if (!in_use()) return;
      before_.reset();
      poisoned_ = false;
      if (place_) robust().recovered();
    });
  }
  void poison() {
    core_->monitor().run_unless_forked([&] { poisoned_ = in_use(); });
  }

 private:
  std::shared_ptr<place> make_place() override {
    return std::make_shared<robust_place>(core_, absolute_, rule_of(contender_kind::lock), *this, lock_delay_, seen_);
  }
  robust_place& robust() const noexcept { return static_cast<robust_place&>(*place_); }
  void let_in(time_point now) override {
    before_ = robust().before();
    poisoned_ = false;
    if (before_) ++counts_.abandoned;
    robust().goes(way_out::abandoned);
    cohort::let_in(now);
  }
  /// Who has lost it may have stopped in the midst of its work, though no other has been let in. The next caller of this
  /// object is told, too: it takes another place.
  void end(hold& mine, time_point now) override {
    const bool in_order = !poisoned_ && !mine.grant->ended(now);
    if (place_) in_order ? robust().goes(way_out::unlocked) : give_up();
    cohort::end(mine, now);
  }
  void on_overdue(hold&) override {
    if (place_) robust().goes(way_out::held_too_long);
    give_up();
  }
  /// What a lock object holds when it is destroyed has not been unlocked.
  void end_all() override {
    give_up();
    leave();
  }

  const std::chrono::milliseconds lock_delay_;
  const std::shared_ptr<seen_death> seen_ = std::make_shared<seen_death>();
  std::optional<dead_owner> before_;  // of the last grant
  bool poisoned_ = false;             // the last grant
};

}  // namespace latchkey::detail
