// SPDX-License-Identifier: Apache-2.0
#include "queue/inquiry.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "queue/caller.hpp"

namespace latchkey::detail {
namespace {

class inquiry : public std::enable_shared_from_this<inquiry> {
 public:
  inquiry(client_core& core, std::string path, std::vector<request> what)
      : core_{core}, path_{std::move(path)}, what_{std::move(what)} {}

  void start(duration timeout) {
    const auto until = deadline_after(core_.strand().now(), timeout);
    timer_ = core_.strand().at(until, [self = shared_from_this()] {
      self->timer_ = {};
      self->fail(
          {errc::unreachable, "no server answered in time: is the ensemble up, and the connect string right?", {}});
    });
    send();
  }

  std::vector<reply> wait() {
    point_.wait();
    if (failed_) failed_->raise();
    return std::move(answers_);
  }

 private:
  void send() {
    if (over_) return;
    if (core_.failed()) return fail(*core_.failed());
    if (!core_.session().connected())
      return void(connection_ = core_.when_connected([self = shared_from_this()] { self->send(); }));
    answers_.assign(what_.size(), {});
    missing_ = what_.size();
    again_ = false;
    for (std::size_t i = 0; i < what_.size(); ++i) {
      core_.session().submit(what_[i], [self = shared_from_this(), i](reply& answer) { self->on_answer(i, answer); });
    }
    if (what_.empty()) end();
  }

  void on_answer(std::size_t index, reply& answer) {
    switch (answer.code) {
      case reply_code::ok:
        // Now: what it may still show has gone by the time somebody reads this.
        if (what_[index].kind == operation::children) {
          answer.children = core_.reaper().remaining(what_[index].path, answer.children);
        }
        break;
      case reply_code::no_node:
        break;
      case reply_code::not_sent:
      case reply_code::unknown_outcome:
      case reply_code::session_over:
        again_ = true;
        break;
      case reply_code::no_permission:
        fail({errc::not_authorised, "its ACL does not let us do that", {}});
        break;
      default:
        fail({errc::refused,
              fmt::format("the ensemble refuses the request (reply {})", static_cast<int>(answer.code)),
              {}});
    }
    answers_[index] = std::move(answer);
    if (--missing_ != 0 || over_) return;
    // Not at once: the connection's end is still being told.
    if (again_) {
      core_.strand().in({}, [self = shared_from_this()] { self->send(); });
    } else {
      end();
    }
  }

  void fail(const failure& why) {
    if (over_) return;
    failed_ = why.at(path_);
    end();
  }

  void end() {
    over_ = true;
    core_.strand().cancel(timer_);
    core_.forget_connected(connection_);
    core_.strand().wake({shared_from_this(), &point_});
  }

  client_core& core_;
  const std::string path_;
  const std::vector<request> what_;
  wait_point point_;
  timer_id timer_;
  std::uint64_t connection_ = 0;
  std::vector<reply> answers_;
  std::size_t missing_ = 0;
  bool again_ = false;
  bool over_ = false;
  std::optional<failure> failed_;
};

}  // namespace

std::vector<reply> inquire(client_core& core, const std::string& path, std::vector<request> what, duration timeout) {
  const auto asked = std::make_shared<inquiry>(core, path, std::move(what));
  core.strand().run([&] { asked->start(timeout); });
  return asked->wait();
}

}  // namespace latchkey::detail
