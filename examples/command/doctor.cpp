// SPDX-License-Identifier: Apache-2.0
#include "doctor.hpp"

#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <latchkey/access.hpp>
#include <latchkey/error.hpp>
#include <latchkey/metrics.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/sequencer.hpp>
#include <latchkey/settings.hpp>
#include <latchkey/transaction.hpp>

#include "answer_times.hpp"
#include "exit_code.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Fewer, if they take long.
constexpr std::size_t most_answers = 50;
constexpr std::size_t least_answers = 5;
constexpr auto time_for_answers = 2s;
constexpr auto between_looks = 5ms;

/// The servers of a connect string, each with the chroot.
std::vector<std::string> each_server_of(const std::string& connect) {
  const auto slash = std::min(connect.find('/'), connect.size());
  const auto chroot = connect.substr(slash);
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= slash;) {
    const auto end = std::min(connect.find(',', begin), slash);
    if (end > begin) all.push_back(connect.substr(begin, end - begin) + chroot);
    begin = end + 1;
  }
  return all;
}

class examination {
 public:
  examination(settings with, const doctor_options& how, std::ostream& out, bool json)
      : with_{std::move(with)}, how_{how}, out_{out}, json_{json}, tick_{how.server_tick} {}

  verdict all() {
    check_arguments();
    const auto servers = each_server_of(with_.connect);
    std::size_t reached = 0;
    for (const auto& each : servers) reached += look_at_server(each) ? 1 : 0;
    if (reached == 0) {
      tell({verdict::failure, "ensemble", "no server can be used"});
      return worst_;
    }
    if (limits_.size() > 1) tell(judge_agreement(limits_));
    guarded(
        "servers", [this] { look_for_keeper(); }, verdict::warning);
    guarded("ensemble", [this] { look_at_ensemble(); });
    return worst_;
  }

 private:
  void tell(const finding& what) {
    worst_ = std::max(worst_, what.how);
    out_ << (json_ ? json_of(what) : text_of(what)) << std::flush;
  }

  /// @returns false if it has failed, and that is told.
  template <class Look>
  bool guarded(const std::string& about, Look look, verdict if_it_fails = verdict::failure) try {
    look();
    return true;
  } catch (const latchkey::error& failed) {
    if (code_of(errc_of(failed)) == exit_code::usage) throw;
    tell({if_it_fails, about, text_of(failed)});
    return false;
  }

  budget time() const { return budget{with_.timeout}; }

  /// @throws usage_error, latchkey::error
  void check_arguments() const {
    const auto client = make_client(with_, purpose::hold);
    const latchkey::mutex lock{*client, how_.path == "/" || how_.path.empty() ? fresh_path() : how_.path};
  }

  /// A session with `timeout`.
  std::unique_ptr<latchkey::client> session(const std::string& server, milliseconds timeout) {
    auto as = with_;
    as.connect = server;
    as.session_timeout = fmt::format("{}ms", timeout.count());
    return connect(as, time());
  }

  milliseconds wanted() const {
    return with_.session_timeout.empty() ? latchkey::client_options{}.session_timeout
                                         : latchkey::parse_duration(with_.session_timeout);
  }

  std::vector<nanoseconds> read_often(const std::string& server) {
    const auto client = session(server, wanted());
    const auto one = [&] { latchkey::read(*client, "/", with_.timeout); };
    one();  // the first pays for what is set up then
    return time_of_each(one, least_answers, most_answers, time_for_answers);
  }

  bool look_at_server(const std::string& where) {
    const auto name = where.substr(0, where.find('/'));
    // The others may do without it.
    return guarded(
        "server " + name,
        [&] {
          const auto times = read_often(where);
          tell(judge_round_trips(name, times, wanted()));
          // Behind a slow network a session of 100 ms is never begun.
          const auto slowest = std::chrono::ceil<milliseconds>(*std::max_element(times.begin(), times.end()));
          const auto asked = std::max<milliseconds>(100ms, 8 * slowest);
          const session_limits its{session(where, asked)->session_timeout(), session(where, 24h)->session_timeout()};
          if (tick_ == 0ms && its.least > asked) tick_ = its.least / 2;
          limits_.push_back(its);
          tell(judge_limits(name, its, wanted(), how_.server_tick));
        },
        verdict::warning);
  }

  /// Its nodes are those of the root.
  void look_for_keeper() {
    const auto client = session(with_.connect.substr(0, with_.connect.find('/')), wanted());
    if (latchkey::read(*client, "/keeper/api_version", with_.timeout).exists) tell(judge_keeper());
  }

  void look_at_ensemble() {
    const auto client = connect(with_, time());
    const auto none = latchkey::parse_sequencer("lk1:000000000000000100000001:/latchkey-doctor/none-lock-0000000000");
    const auto one = [&] { static_cast<void>(latchkey::check_sequencer(*client, none, with_.timeout)); };
    one();
    tell(judge_quorum(time_of_each(one, least_answers, most_answers, time_for_answers), client->session_timeout()));
    tell(judge_lease(client->session_timeout(), tick_));
    std::optional<milliseconds> ahead;
    guarded("lock", [&] { ahead.emplace(lock_for_a_moment(*client)); });
    tell(judge_clock(read_clock(), ahead));
    if (!how_.path.empty()) guarded("access", [&] { look_at_access(*client); });
    if (with_.peers) guarded("peers", [&] { look_at_peers(); });
  }

  /// @returns how far our clock is ahead.
  milliseconds lock_for_a_moment(latchkey::client& client) {
    const auto path = fresh_path();
    latchkey::mutex lock{client, path};
    const auto before = std::chrono::system_clock::now();
    const auto begun = std::chrono::steady_clock::now();
    auto held = lock.try_acquire_for(with_.timeout);
    const auto took = std::chrono::steady_clock::now() - begun;
    if (!held) throw latchkey::error{latchkey::errc::unreachable, "it was not taken in time", path};
    const latchkey::queue_snapshot queue{client, path, with_.timeout};
    held.release();
    tell({verdict::fine, "lock",
          fmt::format("{} was taken within {}", path, age_of(std::chrono::ceil<milliseconds>(took)))});
    const auto since = queue.holders().empty() ? before : queue.holders().front().since;
    // The node was created between `before` and the answer.
    if (since < before) return std::chrono::duration_cast<milliseconds>(before - since);
    return std::min(0ms, std::chrono::duration_cast<milliseconds>(before + took - since));
  }

  /// @returns a path that no one else uses.
  std::string fresh_path() const {
    const auto below = how_.path == "/" ? std::string{} : how_.path;
    return fmt::format("{}/latchkey-doctor-{}-{}", below, host_name(), ::getpid());
  }

  /// Two clients of this process, of which one waits for the other.
  void look_at_peers() {
    const auto first = connect(with_, time(), purpose::hold);
    auto other_port = with_;
    other_port.peers.emplace();
    const auto second = connect(other_port, time(), purpose::hold);
    latchkey::mutex_options direct;
    direct.how = latchkey::hand_off::direct;
    latchkey::mutex ahead{*first, fresh_path(), direct};
    latchkey::mutex behind{*second, fresh_path(), direct};
    const auto held = ahead.try_acquire_for(with_.timeout);
    if (!held) throw latchkey::error{latchkey::errc::unreachable, "it was not taken in time", ahead.path()};
    std::stop_source over;
    std::thread waits{[&] {
      try {
        static_cast<void>(behind.acquire(over.get_token()));
      } catch (const latchkey::error&) {  // the numbers tell
      }
    }};
    latchkey::peer_metrics seen;
    for (const auto end = budget{time_for_answers}; end.left() > 0ns && seen.acknowledged + seen.given_up == 0;) {
      std::this_thread::sleep_for(between_looks);
      seen = second->metrics().peers.value_or(seen);
    }
    over.request_stop();
    waits.join();
    tell(judge_peers(seen.acknowledged > 0));
  }

  void look_at_access(latchkey::client& client) {
    const auto open = latchkey::permissions_of_anyone(client, how_.path, with_.timeout);
    if (open) return tell(judge_access(how_.path, *open));
    tell({verdict::warning, "access", how_.path + ": there is no such node yet"});
  }

  const settings with_;
  const doctor_options& how_;
  std::ostream& out_;
  const bool json_;
  milliseconds tick_;
  std::vector<session_limits> limits_;
  verdict worst_ = verdict::fine;
};

}  // namespace

clock_state read_clock() {
  ::timex now{};
  const int state = ::adjtimex(&now);
  if (state < 0) return {.known = false};
  return {.synchronised = state != TIME_ERROR && (now.status & STA_UNSYNC) == 0,
          .correction = static_cast<double>(now.freq) / 65536};
}

verdict examine(const settings& with, const doctor_options& how, std::ostream& out, bool json) {
  return examination{with, how, out, json}.all();
}

}  // namespace command
