// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jute, ZooKeeper's serialisation: big-endian numbers, length-prefixed strings, vectors and frames.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "latchkey/testing/error.hpp"
#include "latchkey/testing/wire.hpp"

namespace latchkey::testing::detail {

inline constexpr std::int32_t ping_xid = -2;
inline constexpr std::int32_t notification_xid = -1;

/// Reads a big-endian number; the caller has checked that the bytes are there.
template <std::integral Number>
[[nodiscard]] Number load_big_endian(std::string_view bytes) noexcept {
  std::make_unsigned_t<Number> value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value = static_cast<std::make_unsigned_t<Number>>((value << 8U) | static_cast<unsigned char>(bytes[i]));
  }
  return static_cast<Number>(value);
}

/// Builds one record.
class jute_writer {
 public:
  template <std::integral Number>
  jute_writer& number(Number value) {
    const auto bits = static_cast<std::make_unsigned_t<Number>>(value);
    for (std::size_t i = sizeof(Number); i-- > 0;) out_.push_back(static_cast<char>((bits >> (8 * i)) & 0xffU));
    return *this;
  }
  jute_writer& boolean(bool value) {
    out_.push_back(value ? '\1' : '\0');
    return *this;
  }
  jute_writer& bytes(std::string_view value) {
    number(static_cast<std::int32_t>(value.size()));
    out_.append(value);
    return *this;
  }
  /// One entry: all permissions for all clients.
  jute_writer& open_acl() { return number(std::int32_t{1}).number(std::int32_t{31}).bytes("world").bytes("anyone"); }

  /// @returns the record with its length in front, as it goes over the wire.
  [[nodiscard]] std::string frame() const {
    return jute_writer{}.number(static_cast<std::int32_t>(out_.size())).out_ + out_;
  }

 private:
  std::string out_;
};

/// Takes a record apart. @throws connection_failure if it is shorter than it should be.
class jute_reader {
 public:
  explicit jute_reader(std::string_view record) : rest_(record) {}

  template <std::integral Number>
  Number number() {
    return load_big_endian<Number>(take(sizeof(Number)));
  }
  std::string bytes() {
    const auto length = number<std::int32_t>();
    return length <= 0 ? std::string{} : std::string{take(static_cast<std::size_t>(length))};
  }
  std::vector<std::string> strings() {
    std::vector<std::string> all;
    for (auto left = number<std::int32_t>(); left > 0; --left) all.push_back(bytes());
    return all;
  }
  node_stat stat() {
    node_stat s;
    s.czxid = number<std::int64_t>();
    s.mzxid = number<std::int64_t>();
    s.ctime = number<std::int64_t>();
    s.mtime = number<std::int64_t>();
    s.version = number<std::int32_t>();
    s.cversion = number<std::int32_t>();
    s.aversion = number<std::int32_t>();
    s.ephemeral_owner = number<std::int64_t>();
    s.data_length = number<std::int32_t>();
    s.num_children = number<std::int32_t>();
    s.pzxid = number<std::int64_t>();
    return s;
  }

 private:
  std::string_view take(std::size_t count) {
    if (rest_.size() < count) throw connection_failure("a reply of the server is cut short");
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

}  // namespace latchkey::testing::detail
