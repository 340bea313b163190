// SPDX-License-Identifier: Apache-2.0
#include <latchkey/transaction.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/path.hpp"
#include "queue/fenced_commit.hpp"
#include "queue/inquiry.hpp"
#include "session/transaction_size.hpp"
#include "session/waiting_call.hpp"

namespace latchkey {

namespace detail {

struct transaction_steps {
  std::shared_ptr<client_core> core;
  std::shared_ptr<grant_state> held;
  std::vector<step> steps;
  std::string marker;
  std::size_t bytes = 0;

  /// @returns the absolute path.
  std::string admit(const std::string& path, std::size_t data, bool creates = false) {
    validate_path(path);
    auto absolute = core->absolute(path);
    const auto all = bytes + absolute.size() + data + (creates ? bytes_of_creation(core->options()) : bytes_of_step);
    if (rests_on(absolute)) {
      throw error{errc::bad_option, "this is the node of the grant, which is checked anyway; leave the step out", path};
    }
    if (absolute == marker) refuse_marker(absolute, path);
    if (all > most_transaction_bytes) {
      throw error{errc::too_large,
                  fmt::format("with this step the transaction would have {} bytes, more than {}; split it", all,
                              most_transaction_bytes),
                  path};
    }
    bytes = all;
    return absolute;
  }

  /// @returns whether the place in the queue of the grant is there, or one of those of its group.
  bool rests_on(const std::string& path) const {
    return any_node([&](const std::string& node) { return node == path; });
  }

  template <class Predicate>
  bool any_node(Predicate which) const {
    if (!held) return false;
    const auto& others = held->other_nodes();
    return which(held->node()) || std::any_of(others.begin(), others.end(), which);
  }

  /// A marker that a step creates, changes or deletes would not tell what has become of the transaction. Nor would one
  /// that exists as long as the lock is held: a node of the grant, or one above it.
  void refuse_marker(const std::string& path, const std::string& given) const {
    const bool touched = std::any_of(steps.begin(), steps.end(), [&](const step& each) { return each.path == path; });
    const bool always_there = any_node([&](const std::string& node) { return (node + '/').starts_with(path + '/'); });
    if (!touched && marker.empty() && !always_there) return;
    throw error{errc::bad_option,
                "a transaction has one marker, at a path that none of its steps and no lock uses; choose another one",
                given};
  }

  fenced_steps fenced(bool releases) const {
    fenced_steps what{.steps = {}, .marked = !marker.empty(), .releases = releases};
    if (what.marked) what.steps.push_back({.what = step::operation::create, .path = marker});
    what.steps.insert(what.steps.end(), steps.begin(), steps.end());
    return what;
  }
};

namespace {

/// Without a grant the marker alone tells.
class commit_call final : public waiting_call<commit_result> {
 public:
  commit_call(const transaction_steps& what, duration timeout, bool releases)
      : waiting_call{what.core}, marker_{what.marker}, timeout_{timeout} {
    if (what.held) {
      commit_ = std::make_shared<fenced_commit>(what.held, what.fenced(releases));
    } else if (!marker_.empty()) {
      const request marker{.kind = operation::get, .path = marker_, .most_data = 0};
      asked_ = std::make_shared<inquiry>(core(), marker_, std::vector{barrier(marker_), marker});
    }
  }

 private:
  std::shared_ptr<wait_point> first() override {
    auto& monitor = core().monitor();
    monitor.run([&] {
      const auto until = deadline_after(monitor.now(), timeout_);
      if (commit_) commit_->start(until);
      if (asked_) asked_->start(until);
    });
    if (commit_) return commit_->point();
    return asked_ ? asked_->point() : nullptr;
  }
  /// What has been sent cannot be called back.
  void stop() override {
    if (commit_) commit_->stop_waiting();
    if (asked_) asked_->cancel();
  }
  commit_result finish() override {
    if (commit_) return commit_->finish();
    const bool committed = asked_ && asked_->all_answers().back().code == reply_code::ok;
    return {.what = committed ? commit_result::outcome::committed : commit_result::outcome::lock_lost};
  }

  const std::string marker_;
  const duration timeout_;
  std::shared_ptr<fenced_commit> commit_;
  std::shared_ptr<inquiry> asked_;
};

}  // namespace

std::shared_ptr<pending<commit_result>> asynchronous::begin_to_commit(transaction& what,
                                                                      std::chrono::nanoseconds timeout, bool releases) {
  return begin_call<commit_call>({}, *what.steps_, timeout, releases);
}

std::shared_ptr<pending<stored_value>> asynchronous::begin_to_read(client& through, const std::string& path,
                                                                   std::chrono::nanoseconds timeout) {
  validate_path(path);
  request what{.kind = operation::get, .path = through.core()->absolute(path), .most_data = all_data};
  return begin_inquiry<stored_value>(through.core(), path, {std::move(what)}, time_to_answer(timeout),
                                     [](std::vector<reply> answers) -> stored_value {
                                       auto& found = answers.front();
                                       if (found.code != reply_code::ok) return {};
                                       return {true, std::move(found.data), found.stat.version};
                                     });
}

}  // namespace detail

std::string_view to_string(commit_result::outcome what) noexcept {
  switch (what) {
    case commit_result::outcome::none:
      return "none";
    case commit_result::outcome::committed:
      return "committed";
    case commit_result::outcome::lock_lost:
      return "lock lost";
    case commit_result::outcome::refused:
      return "refused";
    case commit_result::outcome::in_doubt:
      return "in doubt";
  }
  return "unknown";
}

std::string to_string(const commit_result& result) {
  if (result.what != commit_result::outcome::refused) return std::string{to_string(result.what)};
  if (result.step == commit_result::marker) return fmt::format("refused: marker, {}", result.why);
  return fmt::format("refused: step {}, {}", result.step, result.why);
}

transaction::transaction(client& through, grant held) : steps_{std::make_unique<detail::transaction_steps>()} {
  steps_->core = through.core();
  steps_->held = detail::grant_state::of(held);
  if (steps_->held && &steps_->held->core() != steps_->core.get()) {
    throw error{errc::bad_option,
                "the grant is of a lock of another client; pass the client that the lock was made from",
                steps_->held->path()};
  }
}

transaction::transaction(transaction&& other) noexcept = default;
transaction& transaction::operator=(transaction&& other) noexcept = default;
transaction::~transaction() = default;

transaction& transaction::create(const std::string& path, std::string data) & {
  auto absolute = steps_->admit(path, data.size(), true);
  steps_->steps.push_back(
      {.what = detail::step::operation::create, .path = std::move(absolute), .data = std::move(data)});
  return *this;
}

transaction& transaction::set(const std::string& path, std::string data, std::int32_t version) & {
  auto absolute = steps_->admit(path, data.size());
  steps_->steps.push_back(
      {.what = detail::step::operation::set, .path = std::move(absolute), .data = std::move(data), .version = version});
  return *this;
}

transaction& transaction::erase(const std::string& path, std::int32_t version) & {
  auto absolute = steps_->admit(path, 0);
  steps_->steps.push_back({.what = detail::step::operation::remove, .path = std::move(absolute), .version = version});
  return *this;
}

transaction& transaction::check(const std::string& path, std::int32_t version) & {
  auto absolute = steps_->admit(path, 0);
  steps_->steps.push_back({.what = detail::step::operation::check, .path = std::move(absolute), .version = version});
  return *this;
}

transaction& transaction::once(const std::string& marker) & {
  if (marker == "/") throw error{errc::bad_path, "the root cannot be a marker; name a node below it", marker};
  detail::validate_path(marker);
  steps_->refuse_marker(steps_->core->absolute(marker), marker);
  steps_->marker = steps_->admit(marker, 0, true);
  return *this;
}

commit_result transaction::commit(saturating<std::chrono::nanoseconds> timeout) {
  return await(detail::asynchronous::begin_to_commit(*this, timeout, false));
}

commit_result transaction::commit_and_release(saturating<std::chrono::nanoseconds> timeout) {
  return await(detail::asynchronous::begin_to_commit(*this, timeout, true));
}

stored_value read(client& through, const std::string& path, saturating<std::chrono::nanoseconds> timeout) {
  return await(detail::asynchronous::begin_to_read(through, path, timeout));
}

}  // namespace latchkey
