// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What clients say to one another about their entries, as bytes.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchkey::detail {

using peer_key = std::array<unsigned char, 16>;
using peer_nonce = std::array<unsigned char, 16>;

struct peer_message {
  enum class verb : std::uint8_t {
    subscribe = 1,  ///< to `ahead`: you are the nearest that I wait for; no answer is needed
    noted = 2,      ///< from `ahead`: I shall tell you
    released = 3,   ///< from `ahead`: I was let in alone, and am closed
    granted = 4,    ///< from `ahead`: I shall tell you, and hold the lock now, so you are next
    ask = 5,        ///< to `ahead`: as `subscribe`, and answer
  };

  verb what{};
  std::string_view ahead;   ///< the name of the entry ahead
  std::string_view behind;  ///< the name of the entry that waits for it
  peer_nonce nonce{};       ///< of the one that waits

  friend bool operator==(const peer_message&, const peer_message&) = default;
};

/// @param key of the entry ahead. @returns the message with its tag (SipHash-2-4 of 128 bits, by libsodium).
/// @pre no name is longer than 255 bytes
std::string encode(const peer_message& what, const peer_key& key);

/// @returns the message, as views of `bytes`; nothing if malformed. Does not check the tag.
std::optional<peer_message> decode(std::string_view bytes) noexcept;

/// @pre `decode` understands it. @returns whether its tag was made with this key.
bool is_genuine(std::string_view bytes, const peer_key& key) noexcept;

/// Where an entry can be subscribed to: what its record says.
struct peer_advert {
  std::string address;
  peer_key key{};

  friend bool operator==(const peer_advert&, const peer_advert&) = default;
};

/// @returns `record`, a JSON object, with the advert in it.
std::string with_advert(std::string record, const peer_advert& what);

/// @returns the advert in the record of an entry; nothing if there is none.
std::optional<peer_advert> read_advert(std::string_view record);

}  // namespace latchkey::detail
