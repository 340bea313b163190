// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The callers of one lock object, who share an entry in turns.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "recipes/line/shared_place.hpp"

namespace latchkey::detail {

struct cohort_options {
  std::uint32_t turns = 16;  ///< once a remote waiter is known; zero: every grant has an entry of its own
  duration linger{};         ///< how long an idle entry is kept; zero: not at all
  std::string group{};       ///< of locks whose numbers it counts for
  duration max_hold{};       ///< how long one caller may hold; zero: for ever
  /// The data of its nodes; nothing: `describe_owner`.
  std::optional<std::string> record{};
  hand_off how = hand_off::ensemble;

  /// @param options of a mutex, of a shared mutex, or of a robust mutex
  /// @throws error bad_option
  template <class Options>
  static cohort_options checked(const Options& options, const std::string& path) {
    return checked({.turns = options.turns,
                    .linger = linger_of(options),
                    .group = options.group,
                    .max_hold = saturate(options.max_hold),
                    .how = how_of(options)},
                   path);
  }

 private:
  template <class Options>
  static duration linger_of(const Options& options) {
    if constexpr (requires { options.linger; }) return saturate(options.linger);
    return {};
  }
  template <class Options>
  static hand_off how_of(const Options& options) {
    if constexpr (requires { options.how; }) return options.how;
    return hand_off::ensemble;
  }
  static cohort_options checked(cohort_options options, const std::string& path);
};

/// Callers wait in a wait list, in the order of their arrival. The first of them creates an entry in the queue. While
/// that is granted it passes from caller to caller without a request: as long as there are no remote waiters, and for a
/// bounded number of turns otherwise; then it is deleted, and a new one is created at the end.
///
/// Every turn is a grant of its own, with its own fencing token. After a loss the turn stays with its caller until that
/// unlocks, so that callers of one object never overlap.
class cohort : public shared_place {
 public:
  /// @param path as the user calls it; below the chroot
  cohort(std::shared_ptr<client_core> core, std::string path, contender_kind kind, const cohort_options& options);
  /// The same with the monitor. @param counts of the group of `options`
  cohort(std::shared_ptr<client_core> core, std::string path, contender_kind kind, const cohort_options& options,
         lock_counts& counts);

  /// With the monitor. @pre it is held, and its place is an entry, which becomes that of a reader. `done` is given it,
  /// or nothing if it was lost, and the number of turns it has had.
  void downgrade(std::function<void(std::shared_ptr<place>, std::uint32_t)> done);

 protected:
  void let_in(time_point now) override;
  void end(hold& mine, time_point now) override;

 private:
  bool is_hopeless(std::uint64_t fiber) override;
  bool closed() const noexcept override { return !in_use() && !bound_; }
  void go_on(time_point now) override;
  void end_all() override { leave(); }
  void on_overdue(hold&) override { give_up(); }
  void on_lost(loss_reason why) override;
  void on_failure(const failure& why) override;
  void on_downgraded() override;
  bool follows_on() const noexcept override { return most_turns_ != 0; }
  std::string record(std::string_view label, const rule& kind) const override {
    return record_ ? *record_ : shared_place::record(label, kind);
  }
  bool may_go_on();
  void fail_downgrade();

  const std::uint32_t most_turns_;
  const std::optional<std::string> record_;
  std::uint32_t counted_ = 0;  // turns of this entry that remote waiters may have waited for
  std::function<void(std::shared_ptr<place>, std::uint32_t)> on_downgraded_;
};

}  // namespace latchkey::detail
