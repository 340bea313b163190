// SPDX-License-Identifier: Apache-2.0
#include "simulation/fake_connector.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace latchkey::testing {
namespace {

/// What the system under test owns of a session.
class handle final : public detail::znodes {
 public:
  explicit handle(fake_session& session) noexcept : session_{&session} {}
  ~handle() override {
    if (session_) session_->abandon();
  }

  bool send(std::uint64_t id, detail::request what) override { return session_->send(id, std::move(what)); }

  std::uint64_t turned_away() const noexcept override { return session_->turned_away(); }

  fake_session& release() noexcept { return *std::exchange(session_, nullptr); }

 private:
  fake_session* session_;
};

}  // namespace

fake_connector::fake_connector(fake_ensemble& ensemble, std::chrono::milliseconds timeout, process_id process)
    : ensemble_{ensemble}, client_{std::make_shared<fake_client>()} {
  client_->process = process;
  client_->timeout = timeout;
}

fake_connector::~fake_connector() {
  *alive_ = false;
  for (auto* const each : sessions_) each->abandon();
}

void fake_connector::open(std::uint64_t epoch, detail::connector_listener& listener,
                          const std::vector<std::string>& /*without*/) {
  look_up({epoch, listener});
}

void fake_connector::resume(const detail::former_session& session, detail::connector_listener& listener) {
  look_up({0, listener, session});
}

void fake_connector::look_up(const opening& what) {
  auto& time = ensemble_.time();
  const auto look_up = ensemble_.plan().look_up.draw(time.random());
  if (look_up == duration::zero()) return begin(what);
  time.after(look_up, [this, alive = alive_, what] {
    if (*alive) on_looked_up(what);
  });
}

void fake_connector::on_looked_up(const opening& what) {
  auto& time = ensemble_.time();
  if (const auto resumes_at = time.resumes_at(client_->process); resumes_at > time.now()) {
    return time.at(resumes_at, [this, alive = alive_, what] {
      if (*alive) on_looked_up(what);
    });
  }
  what.listener.on_opening(what.epoch);
  // It may have been stopped while it read the clock, and goes on at the time that it has read.
  time.at(time.resumes_at(client_->process), [this, alive = alive_, what] {
    if (*alive) begin(what);
  });
}

void fake_connector::begin(const opening& what) {
  auto& time = ensemble_.time();
  const auto wait = ensemble_.plan().opening.draw(time.random());
  if (ensemble_.next_open_fails()) {
    time.after(wait, [alive = alive_, what] {
      if (*alive) what.listener.on_opened(what.epoch, nullptr, "no host resolves (simulated)");
    });
    return;
  }
  auto& session = ensemble_.add(client_, what.epoch, what.listener);
  if (what.former.id != 0) session.resume(what.former);
  sessions_.push_back(&session);
  if (what.epoch != 0) latest_ = &session;
  session.start();
  // The handle may connect before its owner has been given it.
  time.after(wait, [this, alive = alive_, &session, what] {
    if (*alive) on_opened(session, what);
  });
}

void fake_connector::on_opened(fake_session& opened, const opening& what) {
  auto& time = ensemble_.time();
  if (time.resumes_at(client_->process) > time.now()) {
    time.at(time.resumes_at(client_->process), [this, alive = alive_, &opened, what] {
      if (*alive) on_opened(opened, what);
    });
    return;
  }
  what.listener.on_opened(what.epoch, std::make_unique<handle>(opened), {});
}

void fake_connector::retire(std::unique_ptr<detail::znodes> session, std::function<void()> on_closed) {
  static_cast<handle&>(*session).release().close(std::move(on_closed));
}

void fake_connector::cut() { client_->cut = true; }

void fake_connector::abandon() {
  is_abandoned_ = true;
  cut();
}

void fake_connector::heal() {
  if (is_abandoned_ || !std::exchange(client_->cut, false)) return;
  for (auto* const each : sessions_) each->on_healed();
}

std::uint64_t fake_connector::sent() const noexcept {
  return std::accumulate(client_->sent.begin(), client_->sent.end(), std::uint64_t{0}) - sent(detail::operation::sync);
}

std::size_t fake_connector::open_sessions() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(sessions_.begin(), sessions_.end(), [](const auto* each) { return !each->over(); }));
}

}  // namespace latchkey::testing
