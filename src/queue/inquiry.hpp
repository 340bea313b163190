// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Requests that belong to no entry: to read a queue, to write to its nodes, and to delete them.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/repetition.hpp"
#include "bridge/wait_point.hpp"
#include "session/client_core.hpp"
#include "session/waiting_call.hpp"

namespace latchkey::detail {

/// What becomes of a request whose node is missing: that is told, or the path is created. With `tell_denied` it is told,
/// too, that access is denied; otherwise the inquiry fails.
enum class if_missing : std::uint8_t { tell, create, tell_denied };

/// @returns what goes in front of a read, so that it shows all that was committed before. A transaction: a `sync` is not
/// enough at the leader, which tells its followers of a commit before it has applied that itself, and does not let a
/// `sync` of its own clients wait (HAZARDS S12).
inline request barrier(std::string absolute) {
  return {.kind = operation::transact, .steps = {{.path = std::move(absolute)}}};
}

/// Requests that may be repeated, sent again after outages and in new sessions until all are answered. Never more than
/// `most_at_once` are under way, and fewer when their answers are large, so that the proofs of this client's grants are
/// not delayed.
class inquiry final : public session_observer, public std::enable_shared_from_this<inquiry> {
 public:
  static constexpr std::size_t most_at_once = 64;

  /// @param path of the lock: for the errors, and created if something is missing and is to be created
  inquiry(client_core& core, std::string path, std::vector<request> what, if_missing missing = if_missing::tell);

  void start(time_point until);
  /// Forgets what has not been answered.
  void cancel();
  bool over() const noexcept { return over_; }

  // Without the monitor:

  /// @returns what is notified when it is over.
  std::shared_ptr<wait_point> point() { return {shared_from_this(), &point_}; }
  /// @pre it is over. Once. @returns the answers, in the order of the requests, each `ok`, `no_node`, or, if it is to be told, `no_permission`; nothing if it was cancelled, or
  /// not answered in time. @throws error not_authorized, closed, ...
  std::optional<std::vector<reply>> answers();
  /// @returns as `answers`. @throws error unreachable (not all of them came in time), and as that
  std::vector<reply> all_answers();
  /// Suspends the fiber, or blocks the thread, until it is over. @returns the answers
  std::optional<std::vector<reply>> wait() {
    point_.wait();
    return answers();
  }

 private:
  void on_connected() override {}
  void on_session_over() override {}
  void on_failure(const failure& why) override { fail(why); }

  void send();
  void send_more();
  void send_again();
  std::size_t window() const noexcept;
  bool is_answered(std::size_t index) const noexcept;
  void on_answer(std::size_t index, reply& answer);
  failure refusal_of(const request& what, reply_code code) const;
  void fail(const failure& why);
  void end();

  client_core& core_;
  const std::string path_;
  const std::vector<request> what_;
  wait_point point_;
  timer_id timer_;
  std::uint64_t connection_ = 0;
  std::uint64_t observing_ = 0;
  const if_missing if_missing_;
  repetition creates_;
  std::optional<failure> refused_;  // the creation of the path
  std::vector<std::optional<reply>> answers_;
  std::size_t next_ = 0;     // to be sent
  std::size_t waiting_ = 0;  // for an answer
  std::size_t answered_ = 0;
  std::size_t largest_ = 0;  // answer, in bytes
  bool again_ = false;
  bool missing_ = false;
  bool over_ = false;
  std::optional<failure> failed_;
};

/// An inquiry as a call that waits without a thread.
template <class Outcome, class Convert>
class inquiry_call final : public waiting_call<Outcome> {
 public:
  /// @param convert makes the outcome of the answers
  inquiry_call(std::shared_ptr<client_core> core, std::string path, std::vector<request> what, duration timeout,
               Convert convert)
      : waiting_call<Outcome>{std::move(core)},
        path_{std::move(path)},
        timeout_{timeout},
        convert_{std::move(convert)},
        asked_{std::make_shared<inquiry>(this->core(), path_, std::move(what))} {}

 private:
  std::shared_ptr<wait_point> first() override {
    auto& monitor = this->core().monitor();
    monitor.run([&] { asked_->start(deadline_after(monitor.now(), timeout_)); });
    return asked_->point();
  }
  void stop() override { asked_->cancel(); }
  Outcome finish() override { return convert_(asked_->all_answers()); }

  const std::string path_;
  const duration timeout_;
  const Convert convert_;
  const std::shared_ptr<inquiry> asked_;
};

template <class Outcome, class Convert>
std::shared_ptr<pending<Outcome>> begin_inquiry(std::shared_ptr<client_core> core, std::string path,
                                                std::vector<request> what, duration timeout, Convert convert) {
  return begin_call<inquiry_call<Outcome, Convert>>({}, std::move(core), std::move(path), std::move(what), timeout,
                                                    std::move(convert));
}

/// Asks, and waits for the answers. Without the monitor. @returns as `inquiry::answers`
std::optional<std::vector<reply>> inquire(client_core& core, const std::string& path, std::vector<request> what,
                                          duration timeout, std::stop_token stop,
                                          if_missing missing = if_missing::tell);

/// @returns the answers. @throws error unreachable (not all of them within `timeout`), not_authorized, closed, ...
std::vector<reply> inquire(client_core& core, const std::string& path, std::vector<request> what, duration timeout,
                           if_missing missing = if_missing::tell);

}  // namespace latchkey::detail
