// SPDX-License-Identifier: Apache-2.0
#include "simulation/thread_connector.hpp"

#include <algorithm>
#include <future>

#include "session/client_core.hpp"

namespace latchkey::testing {
namespace {

thread_local bool is_event_thread = false;

/// What a client owns of its session: each call becomes a message.
class remote_handle final : public detail::znodes {
 public:
  using session = std::shared_ptr<std::unique_ptr<detail::znodes>>;  // what is in it belongs to the thread

  remote_handle(session own, std::uint64_t epoch, detail::znodes_listener& listener, mailbox thread)
      : session_{std::move(own)}, epoch_{epoch}, listener_{listener}, thread_{std::move(thread)} {}

  ~remote_handle() override {
    thread_.post([own = std::move(session_)] { own->reset(); });
  }

  bool send(std::uint64_t id, detail::request what) override {
    thread_.post([own = session_, epoch = epoch_, &listener = listener_, id, what = std::move(what)]() mutable {
      if ((*own)->send(id, std::move(what))) return;
      detail::reply refused;
      refused.code = detail::reply_code::not_sent;
      listener.on_reply(epoch, id, std::move(refused));
    });
    return true;
  }

  const session& own() const noexcept { return session_; }

 private:
  session session_;
  const std::uint64_t epoch_;
  detail::znodes_listener& listener_;
  const mailbox thread_;
};

}  // namespace

/// What it is told of, the listener is told of; the handle that it is given leaves messages.
class thread_connector::relay final : public detail::connector_listener {
 public:
  relay(detail::connector_listener& listener, mailbox mail) : listener_{listener}, mail_{std::move(mail)} {}

  bool is_of(const detail::connector_listener& listener) const noexcept { return &listener == &listener_; }

  void on_opened(std::uint64_t epoch, std::unique_ptr<detail::znodes> session, std::string failure) override {
    if (!session) return listener_.on_opened(epoch, nullptr, std::move(failure));
    auto own = std::make_shared<std::unique_ptr<detail::znodes>>(std::move(session));
    listener_.on_opened(epoch, std::make_unique<remote_handle>(std::move(own), epoch, listener_, mail_), {});
  }
  void on_connection(std::uint64_t epoch, detail::connection_state state, detail::session_info info) override {
    listener_.on_connection(epoch, state, std::move(info));
  }
  void on_reply(std::uint64_t epoch, std::uint64_t id, detail::reply answer) override {
    listener_.on_reply(epoch, id, std::move(answer));
  }
  void on_watch(std::uint64_t epoch, detail::watch_event event, std::string_view path) override {
    listener_.on_watch(epoch, event, path);
  }

 private:
  detail::connector_listener& listener_;
  const mailbox mail_;
};

thread_connector::thread_connector(ensemble_thread& thread, std::chrono::milliseconds session_timeout)
    : thread_{thread}, mail_{thread}, timeout_{session_timeout} {}

thread_connector::~thread_connector() {
  if (!core_) return;
  core_->monitor().when_earlier({});
  std::promise<void> ended;
  if (thread_.is_this_thread()) {
    end();
  } else {
    mail_.post([&] {
      end();
      ended.set_value();
    });
    ended.get_future().wait();
  }
}

bool thread_connector::in_callback() noexcept { return is_event_thread; }

// Of the client

void thread_connector::drive(detail::client_core& owner) {
  core_ = &owner;
  owner.monitor().when_earlier([this](detail::time_point time) { first_timer_at(time); });
  mail_.post([this] { begin(); });
}

void thread_connector::open(std::uint64_t epoch, detail::connector_listener& listener,
                            const std::vector<std::string>& without) {
  mail_.post([this, epoch, &listener, without] { servers_->open(epoch, relay_to(listener), without); });
}

void thread_connector::resume(const detail::former_session& session, detail::connector_listener& listener) {
  mail_.post([this, session, &listener] { servers_->resume(session, relay_to(listener)); });
}

void thread_connector::retire(std::unique_ptr<detail::znodes> session, std::function<void()> on_closed) {
  mail_.post([this, own = static_cast<remote_handle&>(*session).own(), on_closed = std::move(on_closed)] {
    servers_->retire(std::move(*own), on_closed);
  });
}

void thread_connector::first_timer_at(detail::time_point time) {
  {
    const std::lock_guard lock{mutex_};
    first_timer_ = first_timer_ ? std::min(*first_timer_, time) : time;
  }
  thread_.look_again();
}

// Of the thread

void thread_connector::begin() {
  process_ = thread_.time().attach({[this] { return first_timer(); }, [this] { run_timers(); }});
  servers_.emplace(thread_.ensemble(), timeout_, process_);
  thread_.clients().push_back(this);
  core_->post([] { is_event_thread = true; }, "the simulation");
  if (thread_.all_cut) servers_->cut();
}

void thread_connector::end() {
  mail_.close();
  if (!servers_) return;
  thread_.time().detach(process_);
  std::erase(thread_.clients(), this);
  servers_.reset();
}

std::optional<detail::time_point> thread_connector::first_timer() {
  const std::lock_guard lock{mutex_};
  return first_timer_;
}

void thread_connector::run_timers() {
  {
    const std::lock_guard lock{mutex_};
    first_timer_.reset();  // the monitor tells of the next
  }
  core_->monitor().run_due();
}

bool thread_connector::run_callbacks(const std::shared_ptr<void>& last) {
  if (core_->events().posted() == callbacks_) return false;
  callbacks_ = core_->events().post([last] {});
  return true;
}

detail::connector_listener& thread_connector::relay_to(detail::connector_listener& listener) {
  const auto found =
      std::find_if(relays_.begin(), relays_.end(), [&](const auto& each) { return each->is_of(listener); });
  if (found != relays_.end()) return **found;
  return *relays_.emplace_back(std::make_unique<relay>(listener, mail_));
}

}  // namespace latchkey::testing
