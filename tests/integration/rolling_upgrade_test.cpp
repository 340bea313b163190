// SPDX-License-Identifier: Apache-2.0
/// Servers of one version that are replaced by those of another, one by one, while locks are held and passed on.

#include <latchkey/fair_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "../announced_ensemble.hpp"
#include "support/support.hpp"

namespace latchkey::testing {
namespace {

/// The turns of a lock that several clients pass on: no two at a time, and each token is larger than the last.
class turns {
 public:
  void take(fencing_token token) {
    CHECK(++inside_ == 1);
    const std::lock_guard lock{mutex_};
    if (newest_) CHECK(*newest_ < token);
    newest_ = token;
    ++count_;
    --inside_;
  }
  std::size_t count() const {
    const std::lock_guard lock{mutex_};
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<int> inside_{0};
  std::optional<fencing_token> newest_;
  std::size_t count_ = 0;
};

std::set<std::string> versions_of(ensemble& all) {
  std::set<std::string> found;
  for (std::size_t i = 0; i < all.size(); ++i) found.insert(all.admin(i).srvr().version);
  return found;
}

void upgrade(ensemble& all, std::size_t server, const std::string& class_path) {
  all.stop(server);
  all.use_class_path(server, class_path);
  all.start(server);
  all.wait_until_serving(server, patience());
}

}  // namespace

TEST_SUITE("rolling upgrade") {
  TEST_CASE("locks are held and passed on while the servers are replaced by those of another version") {
    const auto* const next = std::getenv("LATCHKEY_ZOOKEEPER_NEXT_CLASSPATH");
    if (next == nullptr) {
      std::puts("skipped: LATCHKEY_ZOOKEEPER_NEXT_CLASSPATH names no other version");
      return;
    }
    announced_ensemble all{{.container_check_interval = 1s}};
    const auto before = versions_of(all);
    const auto path = fresh_path();
    client keeper{all.connect_string(), quick(10s)};
    client one{all.connect_string(), quick(10s)};
    client two{all.connect_string(), quick(10s)};
    mutex kept{keeper, fresh_path()};
    shared_mutex read{keeper, fresh_path()};
    const auto held = kept.acquire();
    const auto shared = read.acquire_shared();

    turns taken;
    std::atomic<bool> done{false};
    on_threads passing;
    for (auto* const each : {&one, &two}) {
      passing.start([&, each] {
        fair_mutex passed{*each, path};
        while (!done) {
          const auto turn = passed.acquire();
          taken.take(turn.fence());
          pause();
        }
      });
    }
    const auto leader = all.wait_for_leader(patience());
    for (std::size_t i = 1; i <= all.size(); ++i) {  // the leader comes last
      upgrade(all, (leader + i) % all.size(), next);
      CHECK(held);
      CHECK(shared);
      const auto so_far = taken.count();
      CHECK(eventually([&] { return taken.count() > so_far + 2; }));
    }
    done = true;
    passing.join();
    CHECK(versions_of(all).size() == 1);
    CHECK(versions_of(all) != before);
    std::printf("servers now: ZooKeeper %s; %zu turns meanwhile\n", versions_of(all).begin()->c_str(), taken.count());
  }
}

}  // namespace latchkey::testing
