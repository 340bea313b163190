// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What happens in the tour, step by step.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/testing/ensemble.hpp>
#include <latchkey/testing/proxy.hpp>

#include "checks.hpp"
#include "fenced_store.hpp"
#include "record.hpp"
#include "timeline.hpp"
#include "worker_process.hpp"

namespace tour {

struct script_options {
  std::string connect_string;  ///< of an ensemble that is there, and is left alone; empty: a local one, which is hurt
  bool log = false;
};

/// Ends the steps early; what went wrong has been recorded.
struct give_up {};

/// One tour: an ensemble, three workers, and what is done to them; then a read-write lock, and four more.
class script {
 public:
  script(script_options how, std::stop_token stop);
  ~script();

  /// @throws latchkey::testing::cluster_error when there is no ensemble to be had
  summary run();

  bool interrupted() const { return stop_.stop_requested(); }

 private:
  using events = std::vector<event>;

  static constexpr std::chrono::seconds patience{20};  // for one thing that must happen

  // The steps.
  void start_ensemble();
  void start_workers();
  void watch_everybody_get_it();
  void kill_the_leader();
  void let_a_session_expire();
  void watch_for_a_while();
  void share_a_lock();  ///< script_read_write.cpp
  void end_workers();

  // Their means.
  void say(const std::string& text) { record_.add({.who = "tour", .text = text}); }
  void fail(const std::string& text) { record_.add({.who = "tour", .kind = event_kind::failed, .text = text}); }
  void expect(const std::string& what, std::chrono::milliseconds timeout,
              const std::function<bool(const events&)>& done);
  event expect_event(const std::string& what, std::chrono::milliseconds timeout,
                     const std::function<bool(const event&)>& wanted);
  void expect_end_of(std::int64_t session);
  void expect_waiting(latchkey::client& through, std::size_t count);
  void order(const std::string& name, const std::string& what);
  void pause(std::chrono::milliseconds time);
  static std::function<bool(const event&)> is(std::string who, event_kind kind);
  void start_worker(const std::string& name, const std::string& connect_string, std::vector<std::string> more = {});
  std::string servers() const { return ensemble_ ? ensemble_->connect_string() : how_.connect_string; }
  void on_line(worker_process& from, std::string_view line);
  void write(worker_process& from, std::string_view request);

  const script_options how_;
  const std::stop_token stop_;
  timeline timeline_{clock::now()};
  record record_{timeline_};
  fenced_store store_;
  std::unique_ptr<latchkey::testing::ensemble> ensemble_;
  std::unique_ptr<latchkey::testing::proxy> network_;  // between the last worker and the ensemble
  std::vector<std::unique_ptr<worker_process>> workers_;
};

}  // namespace tour
