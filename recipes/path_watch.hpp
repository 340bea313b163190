// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the views of a path have in common.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/repetition.hpp"
#include "queue/refusal.hpp"
#include "queue/wait_list.hpp"
#include "recipes/audience.hpp"
#include "session/conversation.hpp"

namespace latchkey::detail {

/// How a view speaks of itself; literals.
struct view_words {
  const char* callback;    ///< "the callback of a leader_view"
  const char* denied;      ///< "who leads cannot be read"
  const char* permission;  ///< what it needs
};

/// Base of an object that follows what is at a path, and tells its audience of each change. (A watch cannot be set on a
/// missing node without staying there for ever, HAZARDS 10, so a missing path is created.)
/// `Self::look()` asks what is there; what has been seen is believed until the answer comes.
template <class Self, class Sighting>
class path_watch : public session_observer, public conversation<Self> {
 public:
  // Without the monitor:
  void open() {
    core_->monitor().run([this] {
      require_working(*core_, path_);
      observing_ = core_->add_observer(*this);
      self().look();
    });
  }
  /// Waits for a call of the listener on another thread.
  void shut() noexcept {
    if (core_->monitor().forked()) return keep_for_ever(this->shared_from_this());
    audience_->leave();
    core_->monitor().run([this] {
      core_->remove_observer(observing_);
      forget();
    });
  }
  Sighting now() {
    return core_->monitor().run_unless_forked([this] { return seen_; });
  }

 protected:
  /// @param path below the chroot
  path_watch(std::shared_ptr<client_core> core, std::string path, std::function<void(const Sighting&)> changed,
             view_words words)
      : conversation<Self>{*core},
        core_{std::move(core)},
        path_{std::move(path)},
        absolute_{core_->absolute(path_)},
        words_{words},
        audience_{std::make_shared<audience<Sighting>>(words.callback, path_, std::move(changed))} {}
  ~path_watch() = default;

  const std::string& absolute() const noexcept { return absolute_; }
  const Sighting& seen() const noexcept { return seen_; }

  /// The path is there.
  void found_path() {
    refused_ = false;
    if (!found_) found_ = core_->monitor().now();
  }

  /// A new container is not deleted before it has had a child. A client without permission to create it polls.
  void on_missing() {
    // A path that stood for a while was not deleted because of its creation.
    const auto found = std::exchange(found_, std::nullopt);
    if (found && core_->monitor().now() - *found >= repetition::longest_pause) creates_.end();
    const auto pause = std::exchange(refused_, false) ? std::nullopt : creates_.next();
    if (pause == duration::zero()) return make_path();
    if (pause) return this->after(*pause, &path_watch::make_path);
    creates_.end();
    see({.known = true});
    look_later();
  }

  void not_answered(reply_code code) {
    // Once for each path: views may come and go.
    if (!is_lost(code) && core_->warns_first(fmt::format("{}: {}", path_, words_.denied))) {
      const auto why = refusal(*core_, code, words_.permission);
      log(log_level::warning, fmt::format("{}: {}", words_.denied, why.what), {{"path", path_}});
    }
    see({});
    look_later();
  }

  void see(Sighting what) {
    if (what == seen_) return;
    seen_ = std::move(what);
    audience_->tell(*core_, seen_);
  }

 private:
  void on_connected() override { self().look(); }
  void on_disconnected() override { forget(); }
  void on_session_over() override { forget(); }
  void on_failure(const failure&) override { forget(); }

  Self& self() noexcept { return static_cast<Self&>(*this); }

  void make_path() {
    create_path_later(
        *core_, absolute_,
        [weak = this->weak_from_this()](const failure&) {
          if (const auto self = weak.lock()) self->path_watch::refused_ = true;
        },
        [weak = this->weak_from_this()] { return weak.expired(); });
    self().look();
  }

  void look_later() { this->after(core_->session().info().timeout, &Self::look); }

  void forget() {
    this->anew();
    see({});
  }

  const std::shared_ptr<client_core> core_;
  const std::string path_;
  const std::string absolute_;
  const view_words words_;
  std::uint64_t observing_ = 0;
  Sighting seen_;
  bool refused_ = false;             // the creation of the path
  std::optional<time_point> found_;  // since when the path is there
  repetition creates_;
  const std::shared_ptr<audience<Sighting>> audience_;
};

}  // namespace latchkey::detail
