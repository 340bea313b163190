// SPDX-License-Identifier: Apache-2.0
#include "session/size_question.hpp"

#include <utility>

namespace latchkey::detail {
namespace {

constexpr std::uint64_t id_of_greeting = 1;
constexpr std::uint64_t id_of_question = 2;

/// After an attempt that has found no thread or no name.
constexpr duration pause_between_openings = std::chrono::milliseconds{100};

}  // namespace

void size_question::ask(std::size_t bytes, duration patience, const std::vector<std::string>& without,
                        answer_callback answer) {
  bytes_ = bytes;
  without_ = without;
  answer_ = std::move(answer);
  step_ = step::offline;
  ended_ = 0;
  deadline_ = own_monitor().in(patience, [this] {
    deadline_ = {};
    conclude(verdict::unknown);
  });
  if (is_closed()) open(without_);
}

void size_question::give_up() {
  own_monitor().cancel(deadline_);
  own_monitor().cancel(opening_);
  answer_ = {};
  close();
}

void size_question::conclude(verdict what) {
  const auto answer = std::exchange(answer_, {});
  give_up();
  if (answer) answer(what);
}

void size_question::on_up() {
  if (!is_asking()) return;
  const bool sent = handle()->send(id_of_greeting, {.kind = operation::sync, .path = "/"});
  step_ = sent ? step::greeting : step::offline;
}

void size_question::on_answered(std::uint64_t id, const reply& answer) {
  if (!is_asking() || is_lost(answer.code)) return;  // `on_down` follows
  if (answer.code == reply_code::authentication_demanded) return conclude(verdict::unknown);
  if (id == id_of_question) return conclude(verdict::taken);
  if (step_ != step::greeting || answer.code != reply_code::ok) return;
  std::string path(bytes_, 'x');
  path.front() = '/';
  const bool sent = handle()->send(id_of_question, {.kind = operation::get, .path = std::move(path)});
  step_ = sent ? step::asking : step::offline;
}

void size_question::on_down() {
  if (!is_asking() || std::exchange(step_, step::offline) != step::asking) return;
  if (++ended_ == times) conclude(verdict::refused);
}

void size_question::on_closed() {
  if (!is_asking()) return;
  own_monitor().cancel(opening_);
  opening_ = own_monitor().in(pause_between_openings, [this] {
    opening_ = {};
    if (is_closed()) open(without_);
  });
}

}  // namespace latchkey::detail
