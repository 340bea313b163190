// SPDX-License-Identifier: Apache-2.0
#include <latchkey/ticket.hpp>

#include <system_error>

#include "recipes/fair/fair_places.hpp"

namespace latchkey {
namespace {

detail::fair_place& require(const std::shared_ptr<detail::fair_place>& place) {
  if (place) return *place;
  throw std::system_error{std::make_error_code(std::errc::operation_not_permitted),
                          "the ticket is empty; call fair_mutex::enqueue() for one"};
}

}  // namespace

ticket::ticket() noexcept = default;

ticket::ticket(std::shared_ptr<detail::fair_place> place) noexcept : place_{std::move(place)} {}

ticket::ticket(ticket&& other) noexcept = default;

ticket& ticket::operator=(ticket&& other) noexcept {
  if (this != &other) {
    cancel();
    place_ = std::move(other.place_);
  }
  return *this;
}

ticket::~ticket() { cancel(); }

std::size_t ticket::ahead() { return *require(place_).ahead(detail::duration::max(), {}); }

std::optional<std::size_t> ticket::ahead(std::stop_token stop) {
  return require(place_).ahead(detail::duration::max(), std::move(stop));
}

std::optional<std::size_t> ticket::ahead_within(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return require(place_).ahead(timeout, std::move(stop));
}

void ticket::wait() { require(place_).wait(); }

bool ticket::wait(std::stop_token stop) { return require(place_).wait(detail::duration::max(), std::move(stop)); }

bool ticket::wait_within(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return require(place_).wait(timeout, std::move(stop));
}

guard ticket::acquire() {
  wait();
  return place_->guard_of_lock();
}

guard ticket::acquire(std::stop_token stop) { return acquire_within(detail::duration::max(), std::move(stop)); }

guard ticket::acquire_within(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return wait_within(timeout, std::move(stop)) ? place_->guard_of_lock() : guard{};
}

std::shared_ptr<detail::pending<guard>> ticket::begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return require(place_).begin_guard(timeout, std::move(stop));
}

void ticket::cancel() noexcept {
  if (place_) place_->cancel();
}

bool ticket::place_lost() const { return place_ && place_->lost(); }

void ticket::requeue() { require(place_).requeue(); }

bool ticket::spent() const noexcept { return !place_ || place_->spent(); }

}  // namespace latchkey
