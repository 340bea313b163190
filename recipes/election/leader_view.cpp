// SPDX-License-Identifier: Apache-2.0
#include <latchkey/leader_view.hpp>

#include <utility>

#include "recipes/election/leader_watch.hpp"
#include "recipes/rules.hpp"

namespace latchkey {

leader_view::leader_view(client& through, given_text<std::string> path,
                         std::function<void(const leader_sighting&)> changed)
    : path_{std::move(path)} {
  detail::require_lock_path(path_, through.core()->chroot());
  watch_ = std::make_shared<detail::leader_watch>(through.core(), path_, std::move(changed));
  watch_->open();
}

leader_view::~leader_view() { watch_->shut(); }

leader_sighting leader_view::now() const { return watch_->now(); }

}  // namespace latchkey
