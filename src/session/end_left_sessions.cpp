// SPDX-License-Identifier: Apache-2.0
#include <latchkey/session_file.hpp>

#include <memory>
#include <vector>

#include <fmt/format.h>

#include <latchkey/clock.hpp>
#include <latchkey/error.hpp>

#include "base/secrets.hpp"
#include "bridge/client_thread.hpp"
#include "bridge/zookeeper_connector.hpp"
#include "session/session_ending.hpp"
#include "session/session_file.hpp"

namespace latchkey {
namespace {

constexpr std::chrono::milliseconds shortest_timeout{200};

/// The sessions of one file, each with a connector to its own servers.
class endings {
 public:
  endings(detail::session_file& records, const client_options& through) : records_{records} {
    for (const auto& each : records.sessions()) {
      connectors_.push_back(detail::make_connector(each.servers, through));
      endings_.push_back(std::make_unique<detail::session_ending>(
          *monitor_, *connectors_.back(), each, [this, id = each.id](outcome how) { on_told(id, how); }));
    }
  }
  endings(const endings&) = delete;
  endings& operator=(const endings&) = delete;
  ~endings() {
    monitor_->run([this] {
      for (const auto& each : endings_) each->give_up();
    });
    connectors_.clear();  // waits for the threads that tell of it
  }

  void wait(detail::duration timeout) {
    auto timer = monitor_->run([&] {
      for (const auto& each : endings_) each->begin();
      return monitor_->in(timeout, [this] { monitor_->wake(waiter_); });
    });
    waiter_->wait();
    monitor_->run([&] { monitor_->cancel(timer); });
  }

  std::size_t count(detail::session_ending::outcome how) const {
    return monitor_->run([&] { return counts_[static_cast<std::size_t>(how)]; });
  }

 private:
  using outcome = detail::session_ending::outcome;

  void on_told(std::int64_t id, outcome how) {
    ++counts_[static_cast<std::size_t>(how)];
    if (how != outcome::given_up) records_.end(id);
    if (++told_ == endings_.size()) monitor_->wake(waiter_);
  }

  detail::session_file& records_;
  const std::shared_ptr<detail::monitor> monitor_ = std::make_shared<detail::monitor>(&boottime_clock::now);
  const std::shared_ptr<detail::wait_point> waiter_ = std::make_shared<detail::wait_point>();
  std::array<std::size_t, 3> counts_{};
  std::size_t told_ = 0;
  std::vector<std::unique_ptr<detail::session_ending>> endings_;
  std::vector<std::unique_ptr<detail::connector>> connectors_;
  detail::client_thread timers_{monitor_};
};

}  // namespace

left_sessions end_left_sessions(given_text<std::string> file, client_options through,
                                saturating<std::chrono::nanoseconds> timeout) {
  using outcome = detail::session_ending::outcome;
  detail::session_file records{*file, detail::session_file::purpose::read};
  const auto patience = timeout > timeout.zero() ? detail::duration{timeout} : detail::duration{shortest_timeout};
  left_sessions result{.pid = records.left_by()};
  const auto count = records.sessions().size();
  if (count == 0) return result;
  {
    endings all{records, through};
    detail::wipe(through.authentication);
    detail::wipe(through.tls);
    all.wait(patience);
    result.ended = all.count(outcome::ended);
    result.expired = all.count(outcome::expired);
  }
  if (result.ended + result.expired < count) {
    const auto& left = records.sessions().front();
    throw error{
        errc::unreachable,
        fmt::format("no server of {} has ended the session {:#x} within {} ms; it ends by itself {} ms after its "
                    "process has died; check the servers and the network",
                    left.servers, static_cast<std::uint64_t>(left.id),
                    std::chrono::ceil<std::chrono::milliseconds>(patience).count(), left.timeout.count())};
  }
  return result;
}

}  // namespace latchkey
