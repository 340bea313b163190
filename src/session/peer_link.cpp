// SPDX-License-Identifier: Apache-2.0
#include "session/peer_link.hpp"

#include <stdexcept>
#include <utility>

#include <sodium.h>

namespace latchkey::detail {

peer_link::peer_link(monitor& of, std::unique_ptr<datagram_port> through) : own{of}, port{std::move(through)} {
  if (sodium_init() < 0) throw std::runtime_error{"libsodium could not be initialised"};
  randombytes_buf(secret_.data(), secret_.size());
}

peer_key peer_link::hash(std::string_view text) const noexcept {
  peer_key made{};
  crypto_shorthash_siphashx24(made.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                              secret_.data());
  return made;
}

}  // namespace latchkey::detail
