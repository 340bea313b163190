// SPDX-License-Identifier: Apache-2.0
#include "floor_contender.hpp"

#include <fmt/format.h>

#include <cstring>
#include <random>
#include <string_view>
#include <utility>

namespace bench {

namespace {

/// As long as the names that latchkey and Curator give.
std::string fresh_prefix(const std::string& path) {
  static std::mt19937_64 dice{std::random_device{}()};
  const auto high = dice();
  const auto low = dice();
  return fmt::format("{}/_c_{:08x}-{:04x}-{:04x}-{:04x}-{:012x}-lock-", path, high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffff'ffff'ffff);
}

/// The ten digits at the end, which sort as text.
std::string_view number_of(std::string_view name) { return name.size() < 10 ? name : name.substr(name.size() - 10); }

}  // namespace

/// Called by the C client, on its completion thread.
struct floor_contender::replies {
  static floor_contender& self(const void* data) { return *static_cast<floor_contender*>(const_cast<void*>(data)); }

  static void created(int code, const char* path, const Stat*, const void* data) noexcept {
    auto& contender = self(data);
    contender.created_ = code;
    if (code == ZOK) contender.name_ = std::strrchr(path, '/') + 1;
  }

  static void listed(int code, const String_vector* names, const void* data) noexcept {
    auto& contender = self(data);
    if (contender.created_ != ZOK) code = contender.created_;
    if (code == ZOK) contender.read(*names);
    contender.mailbox_.post({&contender, floor_event::kind::listed, code});
  }

  static void deleted(int, const void*) noexcept {}

  static void armed(int code, const char*, int, const Stat*, const void* data) noexcept {
    const auto what = code == ZNONODE ? floor_event::kind::gone : floor_event::kind::armed;
    self(data).mailbox_.post({&self(data), what, code == ZNONODE ? ZOK : code});
  }

  static void changed(zhandle_t*, int type, int, const char*, void* context) noexcept {
    if (type == ZOO_DELETED_EVENT) self(context).mailbox_.post({&self(context), floor_event::kind::gone, ZOK});
  }
};

floor_contender::floor_contender(floor_session& session, floor_mailbox& mailbox, std::string path,
                                 std::function<void()> granted)
    : session_{session},
      mailbox_{mailbox},
      path_{std::move(path)},
      prefix_{fresh_prefix(path_)},
      granted_{std::move(granted)} {}

void floor_contender::lock() {
  locking_ = true;
  expect_ok(::zoo_acreate2(session_.handle(), prefix_.c_str(), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE,
                           ZOO_EPHEMERAL_SEQUENTIAL, replies::created, this),
            "acreate2");
  list();
}

void floor_contender::unlock() {
  const auto node = path_ + "/" + name_;
  expect_ok(::zoo_adelete(session_.handle(), node.c_str(), -1, replies::deleted, nullptr), "adelete");
}

void floor_contender::look() {
  locking_ = false;
  name_.clear();
  list();
}

void floor_contender::list() {
  expect_ok(::zoo_aget_children(session_.handle(), path_.c_str(), 0, replies::listed, this), "aget_children");
}

void floor_contender::read(const String_vector& names) {
  const auto mine = number_of(name_);
  std::string_view nearest;
  ahead_ = 0;
  for (int i = 0; i < names.count; ++i) {
    const std::string_view name{names.data[i]};
    const auto number = number_of(name);
    if (!mine.empty() && number >= mine) continue;
    ++ahead_;
    if (nearest.empty() || number > number_of(nearest)) nearest = name;
  }
  predecessor_ = nearest;
}

void floor_contender::watch() {
  const auto node = path_ + "/" + predecessor_;
  expect_ok(::zoo_awget(session_.handle(), node.c_str(), replies::changed, this, replies::armed, this), "awget");
}

void floor_contender::on(const floor_event& event) {
  expect_ok(event.code, "a reply");
  switch (event.what) {
    case floor_event::kind::armed:
      waiting_ = true;
      return;
    case floor_event::kind::listed:
      if (locking_ && ahead_ > 0) return watch();
      return granted_();
    case floor_event::kind::gone:
      waiting_ = false;
      if (ahead_ > 1) return list();
      return granted_();
  }
}

}  // namespace bench
