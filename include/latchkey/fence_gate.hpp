// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a resource does with fencing tokens. Header only: it needs neither ZooKeeper nor the library.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <latchkey/fencing_token.hpp>

namespace latchkey {

/// Admits requests whose token is not smaller than the largest seen for the same resource (M. Kleppmann, "How to do
/// distributed locking", 2016).
///
/// A request passes by holding the resource's `pass`. While it lives, every other request for that resource waits, so
/// check and effect are one step. Many requests may pass with one token: those of one grant.
///
/// Seal before you read. A token stops only what comes after the first contact of a newer holder. So a new holder calls
/// `seal()` on each resource that it will read from, as its first act; otherwise a delayed write of the former holder may
/// still pass between that read and the write that is computed from it.
///
/// Restarts: a gate without `durable` forgets. After a restart of the resource, let no request pass until the session
/// timeout of the holders is over. A request that was delayed for longer passes even then.
///
/// Several servers: each has a gate of its own. A resource that lives on several of them is sealed on each.
///
/// A new ensemble: tokens of an ensemble that was set up anew begin again. Put a name of the ensemble into the resource.
///
/// No grant: the token of an empty guard, `{}`, never passes.
///
/// Blocking: `admit()`, `seal()` and `largest()` block the thread, also one that runs fibers, while another thread has
/// the pass. A thread that has it itself would wait for ever: there they throw `std::system_error` with
/// `resource_deadlock_would_occur`. Do not suspend a fiber that has a pass.
///
/// Concurrency: every member may be called from any thread. Memory: one entry for each resource, for as long as the gate
/// lives.
///
/// @tparam Resource what names a resource: a key of an unordered map, with the hash `Hash`
template <class Resource, class Hash = std::hash<Resource>>
class fence_gate {
  static_assert(!std::is_pointer_v<Resource> && !std::is_same_v<Resource, std::string_view>,
                "name a resource by its text, as std::string, not by where that is");

  class entry {
   public:
    std::optional<fencing_token> largest;  // nothing: not loaded yet

    void lock() {
      const auto me = std::this_thread::get_id();
      if (holder_.load(std::memory_order_relaxed) == me) {
        throw std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                                "this thread has the pass of the resource already; end that first"};
      }
      mutex_.lock();
      holder_.store(me, std::memory_order_relaxed);
    }
    void unlock() noexcept {
      holder_.store({}, std::memory_order_relaxed);
      mutex_.unlock();
    }

   private:
    std::mutex mutex_;
    std::atomic<std::thread::id> holder_{};  // a thread compares it with itself only: no order is needed
  };

 public:
  /// Where the largest tokens are kept over restarts. Both are called with the pass of the resource held, so they cannot
  /// ask the gate for it.
  struct durable {
    /// @returns the stored token of a resource; `{}` if there is none.
    std::function<fencing_token(const Resource&)> load;
    /// Stores a token, before the first request with it passes. Throws if it cannot: then that request does not pass, and
    /// the largest token is what it was.
    std::function<void(const Resource&, fencing_token)> store;
  };

  /// The right to act on a resource, for as long as it lives. End it on the thread that was given it.
  class pass {
   public:
    /// @returns the token of the request.
    fencing_token token() const noexcept { return token_; }

   private:
    friend class fence_gate;
    pass(std::shared_ptr<entry> of, std::unique_lock<entry> lock, fencing_token token)
        : of_{std::move(of)}, lock_{std::move(lock)}, token_{token} {}

    std::shared_ptr<entry> of_;  // before the lock, which ends first
    std::unique_lock<entry> lock_;
    fencing_token token_;
  };

  /// What `admit()` returns.
  class [[nodiscard]] admission : public std::optional<pass> {
   public:
    using std::optional<pass>::optional;

    /// @returns whether there is a pass.
    explicit operator bool() const& noexcept { return std::optional<pass>::has_value(); }
    /// @returns whether there is a pass.
    bool has_value() const& noexcept { return std::optional<pass>::has_value(); }
    explicit operator bool() const&& = delete;  // give it a name: this pass dies at once
    bool has_value() const&& = delete;
    /// @returns the pass. @pre there is one
    const pass* operator->() const& noexcept { return std::optional<pass>::operator->(); }
    const pass* operator->() const&& = delete;
    /// @returns whether there is no pass.
    bool operator==(std::nullopt_t) const& noexcept { return !has_value(); }
    bool operator==(std::nullopt_t) const&& = delete;
  };

  /// A gate that forgets with the process.
  fence_gate() = default;
  /// A gate that remembers. @throws std::invalid_argument if one of the functions is empty
  explicit fence_gate(durable where) : durable_{std::move(where)} {
    if (!durable_.load || !durable_.store) throw std::invalid_argument{"a fence_gate needs both, load and store"};
  }

  /// `if (auto pass = gate.admit(what, token))` compiles, `if (gate.admit(what, token))` does not: that pass would have
  /// ended before the request begins. Write `auto`: a `std::optional` without its argument holds the whole answer, and so
  /// is never empty.
  /// @returns the right to act; nothing if a larger token has been admitted before, or `token` is `{}`.
  /// @throws what `durable` throws; std::system_error on a thread that has the pass
  admission admit(const Resource& what, fencing_token token) {
    auto of = find(what);
    std::unique_lock lock{*of};
    const auto largest = loaded(what, *of);
    if (token < largest || token == fencing_token{}) return std::nullopt;
    if (token != largest) {
      if (durable_.store) durable_.store(what, token);
      of->largest = token;
    }
    return pass{std::move(of), std::move(lock), token};
  }

  /// The first act of a new holder: from here on no request with a smaller token passes.
  /// @returns whether it did; not if a larger token has been admitted before.
  /// @throws what `durable` throws; std::system_error on a thread that has the pass
  [[nodiscard]] bool seal(const Resource& what, fencing_token token) {
    const auto passed = admit(what, token);
    return passed.has_value();
  }

  /// @returns the largest token that has been admitted; `{}` if there was none. For the answer to a refused request.
  /// @throws what `durable` throws; std::system_error on a thread that has the pass
  fencing_token largest(const Resource& what) {
    const auto of = find(what);
    const std::lock_guard lock{*of};
    return loaded(what, *of);
  }

 private:
  std::shared_ptr<entry> find(const Resource& what) {
    const std::lock_guard lock{mutex_};
    auto& found = entries_[what];
    if (!found) found = std::make_shared<entry>();
    return found;
  }

  fencing_token loaded(const Resource& what, entry& of) {
    if (!of.largest) of.largest = durable_.load ? durable_.load(what) : fencing_token{};
    return *of.largest;
  }

  durable durable_;
  std::mutex mutex_;
  std::unordered_map<Resource, std::shared_ptr<entry>, Hash> entries_;
};

}  // namespace latchkey
