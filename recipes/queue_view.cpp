// SPDX-License-Identifier: Apache-2.0
#include <latchkey/queue_view.hpp>

#include <utility>

#include "base/path.hpp"
#include "recipes/queue_watch.hpp"
#include "recipes/rules.hpp"

namespace latchkey {

queue_view::queue_view(client& through, given_text<std::string> path,
                       std::function<void(const queue_sighting&)> changed)
    : path_{std::move(path)} {
  detail::require_lock_path(path_, through.core()->chroot());
  watch_ = std::make_shared<detail::queue_watch>(through.core(), path_, std::move(changed));
  watch_->open();
}

queue_view::~queue_view() { watch_->shut(); }

queue_sighting queue_view::now() const { return watch_->now(); }

}  // namespace latchkey
