// SPDX-License-Identifier: Apache-2.0
#include <latchkey/election.hpp>

#include <chrono>
#include <exception>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/repetition.hpp"
#include "queue/record.hpp"
#include "recipes/line/cohort.hpp"
#include "recipes/line/line_call.hpp"
#include "recipes/rules.hpp"

namespace latchkey {
namespace {

using namespace detail;

/// The wait for a time. Ends early with the client.
class rest final : public session_observer, public std::enable_shared_from_this<rest> {
 public:
  explicit rest(client_core& core) : core_{core} {}

  // With the monitor:
  void begin(duration time) {
    if (core_.failed()) return end();
    observing_ = core_.add_observer(*this);
    timer_ = core_.monitor().at(deadline_after(core_.monitor().now(), time), [self = shared_from_this()] {
      self->timer_ = {};
      self->end();
    });
  }
  void end() {
    if (std::exchange(over_, true)) return;
    core_.monitor().cancel(timer_);
    core_.remove_observer(observing_);
    core_.monitor().wake({shared_from_this(), &point_});
  }

  /// Suspends the fiber, or blocks the thread. Without the monitor.
  void wait() { point_.wait(); }

 private:
  void on_connected() override {}
  void on_session_over() override {}
  void on_failure(const failure&) override { end(); }

  client_core& core_;
  wait_point point_;
  timer_id timer_;
  std::uint64_t observing_ = 0;
  bool over_ = false;
};

void rest_for(client_core& core, duration time, std::stop_token stop) {
  auto& monitor = core.monitor();
  const auto pause = std::make_shared<rest>(core);
  monitor.run([&] { pause->begin(time); });
  const std::stop_callback on_stop{std::move(stop), [&] { monitor.run_unless_forked([&] { pause->end(); }); }};
  pause->wait();
}

/// Terms that `work` ends at once. Each costs the ensemble two writes, and every candidate a new leader.
class short_terms {
 public:
  /// @returns how long the candidate stays out of the election, after a term in which `work` has run for so long
  duration rest_after(duration worked, const std::string& path) {
    if (worked >= least) {
      ended_.end();
      return {};
    }
    if (const auto pause = ended_.next()) return *pause;
    if (!std::exchange(said_, true)) {
      log(log_level::warning,
          fmt::format("the work of an election has returned at once {} times, and each time the leader resigns; let it "
                      "return when stop is requested on its token",
                      repetition::most_attempts),
          {{"path", path}});
    }
    return repetition::longest_pause;
  }

 private:
  static constexpr duration least = std::chrono::milliseconds{100};

  repetition ended_;
  bool said_ = false;
};

/// @returns the id. @throws error bad_option for one that others could not read
std::string checked_id(std::string id, const client& owner, const std::string& path) {
  if (id.empty()) id = name_of_owner(owner.core()->options().label);
  if (const auto most = request{}.most_data; id.size() > most)
    throw error{errc::bad_option, "the option id has more than " + std::to_string(most) + " bytes; shorten it", path};
  if (id == release_request)
    throw error{errc::bad_option, "the option id asks holders to release their lock; choose another one", path};
  return id;
}

}  // namespace

election::election(client& owner, given_text<std::string> path, election_options options)
    : path_{std::move(path)}, rest_{saturate(options.rest_after_failure)}, core_{owner.core()} {
  require_lock_path(path_, core_->chroot());
  id_ = checked_id(std::move(options.id), owner, path_);
  require_not_negative("rest_after_failure", rest_, path_);
  if (options.as > election_options::naming::selector)
    throw error{errc::bad_option, "the option as is neither latch nor selector", path_};
  const bool as_latch = options.as == election_options::naming::latch;
  // The term is the czxid of a node: others read it there. So no node serves two terms.
  candidate_ = std::make_shared<cohort>(core_, path_, as_latch ? contender_kind::latch : contender_kind::lock,
                                        cohort_options{.turns = 0, .group = std::move(options.group), .record = id_});
}

election::~election() { candidate_->shut(); }

void election::run(std::stop_token stop, const std::function<void(const grant&, std::stop_token)>& work,
                   saturating<std::chrono::nanoseconds> warning) {
  if (!work) throw error{errc::bad_option, "run() was given an empty function as work; give it one", path_};
  // `work` may destroy this object.
  const auto [core, candidate, path, rest] = std::tuple{core_, candidate_, path_, rest_};
  short_terms ended;
  for (;;) {
    auto term = candidate->acquire_guard(std::chrono::nanoseconds::max(), stop);
    if (term.grant() == grant{}) return;  // stop is requested
    const auto asked_to_stop = term.stop_token(stop, warning);
    const auto elected_at = core->monitor().now();
    std::exception_ptr failed;
    try {
      work(term.grant(), asked_to_stop);
    } catch (...) {
      failed = std::current_exception();  // a fiber must not be suspended inside a handler
    }
    const auto worked = core->monitor().now() - elected_at;
    const bool by_itself = !asked_to_stop.stop_requested();
    term.release();
    if (failed) {
      rest_for(*core, rest, stop);
      std::rethrow_exception(failed);
    }
    if (!by_itself) continue;
    const auto pause = ended.rest_after(worked, path);
    if (pause != duration::zero()) rest_for(*core, pause, stop);
  }
}

bool election::take(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return candidate_->acquire(timeout, std::move(stop));
}

guard election::take_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return candidate_->acquire_guard(timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> election::begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return detail::begin_guard(*candidate_, timeout, std::move(stop));
}

void election::unlock() noexcept { candidate_->unlock(); }

grant election::held() const { return candidate_->held(); }

}  // namespace latchkey
