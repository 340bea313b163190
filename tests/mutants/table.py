# SPDX-License-Identifier: Apache-2.0
"""The rules that `run.py` breaks, one at a time: those of direct hand-off (recipes/HAND_OFF.md has their reasons), one of
the lease, and those of `latchkey run`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str  # what the broken code does
    file: str
    old: str
    new: str
    harmless: str = ""  # why no test can notice; empty: one must


entry = "src/queue/queue_entry.cpp"
waits = "src/queue/entry_wait.cpp"
ahead = "src/queue/predecessor.cpp"
departures = "src/session/departures.cpp"
requeue = "src/queue/entry_requeue.cpp"
peers_waiting = "src/session/waiting_peers.cpp"
peers_awaited = "src/session/awaited_peers.cpp"
peer_link = "src/session/peer_link.hpp"
message = "src/session/peer_message.cpp"
cohort = "recipes/line/cohort.cpp"
robust = "recipes/robust/robust_place.cpp"
waiting = "src/session/waiting_call.hpp"

mutants = (
    # Who looks ahead.
    Mutant("a look counts for one that shows the predecessor alone", ahead,
           "who_->outlook().listed(seen.blockers, now,", "who_->outlook().listed(1, now,"),
    # Who tells.
    Mutant("a waiter that leaves tells", entry,
           "const bool tells = closed && state_ == state::granted &&", "const bool tells = (closed || state_ == state::waiting) &&"),
    Mutant("a grant that is lost, or has lasted too long, tells", entry,
           "const bool tells = closed && state_", "const bool tells = state_"),
    Mutant("an entry that was let in and never granted tells", entry,
           "closed && state_ == state::granted && kind_", "closed && first_ && kind_",
           "what it says is true: it was let in alone, and no grant of it will begin"),
    Mutant("an entry whose deletion is under way along with a transaction tells", entry,
           "!replacement_ && !releasing_ &&", "!replacement_ &&",
           "the transaction has not been answered, so the grant is bound and the entry not closed"),
    Mutant("an entry with a neighbour behind it tells", entry,
           "                     !followed() && !core_", "                     !core_",
           "what it says is true, and only an entry behind the neighbour can hear it, which waits for that"),
    Mutant("an entry tells while an earlier one of its client still means something", entry,
           "!followed() && !core_->reaper().owes_bound(*path_);", "!followed();"),
    Mutant("an entry that does not tell does not bind those after it", entry,
           "if (core_->peers() && first_ && !closed", "if (false && first_ && !closed"),
    Mutant("an entry that leaves for another does not bind those after it", requeue,
           "  bind_node(closed);\n", ""),
    Mutant("a closed entry binds those after it", entry,
           "first_ && !closed && !node_.empty()", "first_ && !node_.empty()"),
    Mutant("an entry that leaves does not tell", entry, "  tell_peers(closed);\n  release_node(closed);", "  release_node(closed);"),
    Mutant("an entry that leaves for another does not tell", requeue, "const bool told = tell_peers(closed);", "const bool told = false;"),
    Mutant("a node whose release was told is kept no longer than others", requeue, "told ? reaper::patience_if_told : reaper::patience", "reaper::patience"),
    Mutant("a node is kept for long though its release was not told", requeue, "told ? reaper::patience_if_told : reaper::patience", "reaper::patience_if_told"),
    Mutant("a turn of a cohort forgets that an earlier one is bound", cohort,
           "bound_ = bound_ || mine.grant->bound();", "bound_ = mine.grant->bound();"),
    Mutant("a cohort heeds no bound turn", "recipes/line/cohort.hpp", "return !in_use() && !bound_;", "return !in_use();"),
    Mutant("a cohort tells while it has an owner", "recipes/line/cohort.hpp", "return !in_use() && !bound_;", "return !bound_;"),
    Mutant("a new entry of a cohort stays bound", "recipes/line/shared_place.cpp",
           "used_ = rested_ = asked_to_release_ = bound_ = false;", "used_ = rested_ = asked_to_release_ = false;"),
    Mutant("a place in a line heeds no bound grant", "recipes/fair/fair_places.cpp",
           "const bool closed = !mine.grant->bound();", "const bool closed = true;"),
    Mutant("a sequencer does not bind", "src/queue/grant_state.hpp",
           "return !given_out_.compare_exchange_strong(none, false) || unanswered_ != 0;",
           "return (given_out_.compare_exchange_strong(none, false), unanswered_ != 0);"),
    Mutant("a transaction without an answer does not bind", "src/queue/grant_state.hpp",
           "compare_exchange_strong(none, false) || unanswered_ != 0;", "compare_exchange_strong(none, false);"),
    Mutant("a lost answer counts as one", "src/queue/fenced_commit.cpp",
           "if (!is_lost(answer.code) && answer.code != reply_code::session_over) held_", "held_"),
    Mutant("a bound node is forgotten when its deletion is sent", "src/session/reaper.cpp",
           "  auto& what = obligations_.at(id);\n  what.is = obligation::state::under_way;\n  ++deletions_;",
           "  auto& what = obligations_.at(id);\n  bound_.erase(what.path);\n  what.is = obligation::state::under_way;\n  ++deletions_;"),

    # Who is told.
    Mutant("the smallest number is told", peers_waiting, "of.behind.number > who.number) return false;", "of.behind.number < who.number) return false;"),
    Mutant("the last to ask is told", peers_waiting, "of.behind.number > who.number) return false;", "false) return false;"),
    Mutant("an entry ahead may ask", peers_waiting, "!number || !own || *number <= *own", "!number || !own"),
    Mutant("a question with a false tag is noted", peers_waiting,
           "if (!is_genuine(bytes, link_.key_of(ahead))) return void(++link_.counts.bad_tag);", ""),
    Mutant("those who ask too late are not told", peers_waiting, "if (was_closed(ahead)) return send(verb::released, ahead, asks);", ""),
    Mutant("any entry that has left is said to be closed", "src/session/waiting_peers.hpp",
           "  void remove(const std::string& name) { own_.erase(name); }",
           "  void remove(const std::string& name) { own_.erase(name), closed_.push_back({name, link_.own.now() + closed_for}); }"),
    Mutant("those who ask too early are forgotten", peers_waiting, "  early_.push_back({ahead, std::move(who)});\n", ""),
    Mutant("closed entries are kept for ever", peers_waiting,
           "while (!closed_.empty() && closed_.front().until <= link_.own.now()) closed_.pop_front();", ""),
    Mutant("any number of closed entries is kept", peers_waiting, "  if (closed_.size() > most_closed) closed_.pop_front();\n", ""),
    Mutant("early questions are kept for ever", peers_waiting,
           "while (!early_.empty() && early_.front().who.since + early_for <= link_.own.now()) early_.pop_front();", ""),
    Mutant("any number of early questions is kept", peers_waiting, "  if (early_.size() > most_early) early_.pop_front();\n", ""),
    Mutant("a holder does not say that it holds", peers_waiting, "send(holds ? verb::granted : verb::noted, ahead, asks);", "send(verb::noted, ahead, asks);"),
    Mutant("who has waited for long is not told of the grant", peers_waiting,
           "if (!mine.behind.name.empty() && mine.behind.since + patience < link_.own.now()) {", "if (false) {"),
    Mutant("each grant is told", peers_waiting, "mine.behind.since + patience < link_.own.now()", "true"),
    Mutant("a repeated question counts as a new one", peers_waiting, "  if (of.behind.name == who.name) who.since = of.behind.since;\n", ""),

    # Who believes it.
    Mutant("a release is believed with any nonce", peers_awaited, "if (with.ahead != what.ahead || with.nonce != what.nonce)", "if (with.ahead != what.ahead)"),
    Mutant("the release of any entry is believed", peers_awaited, "if (with.ahead != what.ahead || with.nonce", "if (with.nonce",
           "the nonce is of this subscription, and its owner answers for the entry that was named with it"),
    Mutant("a release is believed with any tag", peers_awaited, "if (!is_genuine(bytes, with.at.key)) return void(++link_.counts.bad_tag);", ""),
    Mutant("a record that others have written is believed", ahead, "released_ || read.stat.version != 0) return;", "released_) return;"),
    Mutant("an advert goes for the entries of all clients", peer_link, "return name.substr(0, 21);", "return name.substr(0, 3);"),
    Mutant("the names of a client's entries have nothing in common", "src/session/peers.cpp",
           "std::memcpy(&high, link_.hash(path).data(), sizeof high);", "randombytes_buf(&high, sizeof high);"),
    Mutant("a release is heeded in any state", waits, "  if (state_ != state::waiting) return;\n  const auto self = shared_from_this();\n  if (how_", "  const auto self = shared_from_this();\n  if (how_",
           "in no other state is there a predecessor, except without a connection: then the list after the reconnect decides"),
    Mutant("a release is heeded without a connection", waits, "how_ == hand_off::direct && through().connected() && through().answered()) return", "how_ == hand_off::direct && (!through().connected() || through().answered())) return"),
    Mutant("a release overtakes the events of an outage", waits, "through().connected() && through().answered())", "through().connected())"),
    Mutant("a release that comes during an outage is forgotten", entry, "if (state_ == state::waiting) return confirm_release();", ""),
    Mutant("a quorum that cannot be asked admits", waits, "if (checked.code == reply_code::ok) return me.admitted_by_release();", "return me.admitted_by_release();"),
    Mutant("a waiter without a node waits on", waits, "if (checked.code == reply_code::no_node) return me.on_node_gone();", "",
           "its own watch tells it later"),
    Mutant("direct_then_sync asks no quorum", waits, "{.kind = operation::transact, .steps = {{.path = node_}}},", "{.kind = operation::sync, .path = *path_},"),
    Mutant("direct_then_sync asks nobody", waits, "if (how_ == hand_off::direct && through()", "if (through()"),
    Mutant("what is read at one path is believed at another", peers_awaited, "const auto whom = known_.find(join(path, family_of(ahead)));", "const auto whom = std::find_if(known_.begin(), known_.end(), [&](const auto& each) { return each.first.ends_with(family_of(ahead)); });"),
    Mutant("a subscription outlives the wait", ahead, "  if (peers_ != nullptr && who_ != nullptr) peers_->awaited().unsubscribe(own_name());\n", ""),
    Mutant("the node of a dead holder stays", ahead, "if (read.code != reply_code::no_node) core.reaper().remove_alone(node);", "(void)read;"),
    Mutant("the node of a live holder is deleted again", ahead, "if (read.code != reply_code::no_node) core.reaper()", "(void)read, core.reaper()"),
    Mutant("the node of a live holder is deleted at once", ahead, "core().session().info().timeout / 8,", "duration{1},"),
    Mutant("the node is deleted though it has gone", ahead, "if (core().peers()) core().peers()->departures().gone(*path_, name_);", ""),
    Mutant("a change of its data keeps the node of a dead holder", ahead, "if (event == watch_event::deleted) return self.gone();", "return self.gone();"),
    Mutant("the node is deleted though it was gone before the watch", ahead,
           "  if (read.code == reply_code::no_node) return gone();\n", ""),
    Mutant("a list says nothing of nodes that were to go", waits, "if (peers()) peers()->departures().listed(*path_, listed.children);", ""),
    Mutant("a list says that all have gone", departures, "if (std::find(children.begin(), children.end(), each->first) != children.end()) continue;", ""),
    Mutant("who has gone leaves a watch", ahead, "  anew();\n  if (peers_", "  if (peers_"),
    Mutant("who is told twice begins to wait for the deletion once more", departures, "if (each.timer) return false;", "monitor_.cancel(each.timer);"),
    Mutant("who is next does not keep its lease", waits, "core_->lease_keeper().expect(*this);", "(void)0;"),
    Mutant("who is told that it is next proves in any state", waits,
           "if (state_ == state::waiting) core_->lease_keeper().expect", "core_->lease_keeper().expect",
           "in no other state is there a predecessor, except without a connection, and then no proof can be asked for"),
    Mutant("who was next keeps its lease when it waits no more", entry, "  if (peers() && !node_.empty()) core_->lease_keeper().remove(*this);  // it was next, perhaps\n", "",
           "an entry that was next is let in, or leaves the queue, and either ends it"),

    # Who does not watch yet.
    Mutant("everybody's release is expected soon", peers_awaited, "= needed == 0 && ", "= "),
    Mutant("nobody's release is expected soon", peers_awaited, "= needed == 0 && ", "= false && "),
    Mutant("one is expected from an address that does not answer", peers_awaited, "needed == 0 && !is_silent(at.address);", "needed == 0;"),
    Mutant("one that does not come is waited for without a watch", peers_awaited, "if (late) with.who->on_no_release();", "(void)late;"),
    Mutant("one that does not come is expected again", peers_awaited, "    needed = with.expected ? needed_after_a_miss : std::max(needed, 1U);\n", ""),
    Mutant("who is told that it is next never watches", peers_awaited, "if (early && subscriptions_.contains(mine)) who->on_no_release();", "(void)early;"),
    Mutant("one that does not come from an address that has become silent is waited for without a watch", peers_awaited, "  const bool late = with.is == state::first_pause;", "  const bool late = with.is == state::first_pause && !is_silent(with.at.address);"),
    Mutant("a watch is set without a connection", ahead, "  if (connected()) return watch();", "  return watch();",
           "a read that cannot be sent fails, and then a list follows the reconnect, too"),
    Mutant("the node ahead is watched twice", ahead, "  if (watching()) return;\n", ""),
    Mutant("what is overdue is forgotten without a connection", ahead, "if (!connected()) return core().reaper().remove_alone(node);", "if (!connected()) return;"),
    Mutant("what is no longer overdue is remembered", departures, "    gone(parent, name);\n", ""),
    Mutant("one that has not come once is expected at once again", peers_awaited, "with.expected ? needed_after_a_miss : std::max(needed, 1U)", "std::max(needed, 1U)"),
    Mutant("a client that closes forgets the node of a dead holder", "src/session/client_core.cpp", "  if (peers_ && session_.connected()) peers_->departures().wait_no_longer();\n", ""),
    Mutant("who cannot ask a quorum never watches", waits, "if (me.through().connected()) me.predecessor_->on_no_release();", ""),

    # Addresses.
    Mutant("a question is asked once", peers_awaited, "if (with.sent == pauses.size()) give_up(with);", "if (with.sent == 1) give_up(with);"),
    Mutant("the first message is answered", peers_waiting, "if (what.what == verb::ask) send(", "send("),
    Mutant("no answer is asked for", peers_awaited, "first ? verb::subscribe : verb::ask", "verb::subscribe"),
    Mutant("an address that has not answered is asked again at once", peers_awaited,
           "if (is_silent(with.at.address)) {", "if (false) {"),
    Mutant("an address that has not answered is never asked again", peers_awaited,
           "    with.timer = link_.own.at(silent_.at(with.at.address), [this, mine] { ask(mine); });\n", ""),
    Mutant("one that is noted is not asked again", peers_awaited,
           "  with.timer = link_.own.in(asked_again_after, [this, mine] { ask(mine); });\n", ""),
    Mutant("an answer does not end the questions", peers_awaited, "  with.is = state::noted;\n  link_.own.cancel(with.timer);\n", "  with.is = state::unanswered;\n"),
    Mutant("any number of datagrams is received before timers run", "src/bridge/udp_port.cpp",
           "for (std::size_t i = 0; i < most_at_once; ++i) {", "for (;;) {"),

    # Messages.
    Mutant("a tag covers no names", message, "const auto tag = tag_of(bytes, key);", "const auto tag = tag_of(bytes.substr(0, head), key);"),
    Mutant("an unknown verb is understood", message, "found.what > peer_message::verb::ask) return std::nullopt;", "false) return std::nullopt;"),
    Mutant("what follows the names is ignored", message, "if (!behind || !rest.empty()) return std::nullopt;", "if (!behind) return std::nullopt;"),
    Mutant("a key of any length is read", message, "      size != found.key.size()) {", "      false) {"),

    # The lease.
    Mutant("who knows T to be below four ticks waits no longer for a ping", "src/session/liveness.hpp", "? 10 : 7)", "? 7 : 7)"),

    # The sessions of the dead.
    Mutant("a session file is not locked", "src/session/session_file.cpp",
           "    if (!lock_file(path, file)) {", "    if (false) {",
           "the number and the start of its process are looked at, too"),
    Mutant("it is not asked whether the process of a session file lives", "src/session/session_file.cpp",
           "if (records.owner.pid != ::getpid() && is_alive(records.owner)) {", "if (false) {"),
    Mutant("a forked child keeps the session file", "src/base/process.cpp",
           "          for (auto& each : only.open) each.close();\n", ""),
    Mutant("a session file is that of another object of the process", "src/session/session_file.cpp",
           "    if (!file.take()) {", "    if (false) {"),
    Mutant("a line that is damaged is read", "src/session/session_record.cpp",
           "  if (line.substr(at) != fmt::format", "  if (false && line.substr(at) != fmt::format"),
    Mutant("the next process ends no session", "src/session/client_core.cpp",
           "end_left_session(each, to_others);", "static_cast<void>(to_others);"),
    Mutant("the session of a run is ended while processes of it live", "examples/command/run_sessions.cpp",
           "    if (!is_over(one, is_ours ? for_killing : std::chrono::milliseconds{0})) continue;\n", ""),

    # Robust mutexes.
    Mutant("the record goes without the node of its owner", "src/session/reaper.cpp",
           "    what.add_to(removal.steps);\n", "    removal.steps = what.along;\n"),
    Mutant("a record is written by an owner whose node has gone", robust,
           ".steps = {{.what = step::operation::check, .path = node_named(record_.node)}, std::move(record)}},",
           ".steps = {std::move(record)}},"),
    Mutant("a record is replaced that is not what was read", robust, ".version = is_new ? -1 : version_", ".version = -1"),
    Mutant("the record of an owner that is being deleted is taken for that of a dead one", robust,
           "  if (!found.node.empty() && core_->reaper().owes(node_named(found.node))) {",
           "  if (false) {", "on a new connection deletions are sent before anything else"),
    Mutant("what was lost is unlocked in order", "recipes/robust/robust_line.hpp",
           "!poisoned_ && !mine.grant->ended(now)", "!poisoned_"),
    Mutant("what was poisoned is unlocked in order", "recipes/robust/robust_line.hpp",
           "!poisoned_ && !mine.grant->ended(now)", "!mine.grant->ended(now)"),
    Mutant("who may have written its record leaves without it", robust, "  if (!uncertain_) return leave_at_last();\n", "  return leave_at_last();\n"),
    Mutant("a death is forgotten that was not put in order", "recipes/robust/robust_record.cpp",
           "  if (how == way_out::unlocked && !before)", "  if (how == way_out::unlocked)"),
    Mutant("an entry that stands again takes the record of others along", robust,
           "state_ == state::named && record_.node == last_component(entry_->node())", "state_ == state::named"),
    Mutant("a record is told of that has gone since", robust, "  if (is_new) record_.before.reset();\n", ""),
    Mutant("who was sent along with its record is granted before its entry", robust,
           "  if (ahead_) return entry_->granted() ? on_granted() : void();\n", ""),
    Mutant("the record of one ahead is replaced", robust,
           "  if (ahead_) return await_entry();  // what it has found may be of one ahead\n", ""),
    Mutant("the record of a node that is still looked for stays", robust,
           "entry_->spared() || (is_named && entry_->node().empty())", "entry_->spared()"),
    Mutant("a client that is closed leaves a record that is under way", "recipes/robust/robust_place.hpp",
           "return uncertain_ ? record_.node : std::string{};", "return {};"),
    Mutant("the token of a record is one that its owner has not got", robust,
           "node == record_.node && fence == record_.owner.fence", "node == record_.node"),
    Mutant("a transaction that was refused for the next place keeps the record of the former one", "src/session/reaper.cpp",
           "  auto& what = obligations_.at(id);\n  what.alone = true;\n", "  auto& what = obligations_.at(id);\n  what.along.clear();\n  what.alone = true;\n"),
    Mutant("a try waits for a lock delay", robust,
           "me.replace(dead, version); });\n  listener_->on_delayed();\n", "me.replace(dead, version); });\n"),

    # Coroutines.
    Mutant("a coroutine that was destroyed goes on", "include/latchkey/async.hpp",
           "if (!call_->abandoned()) who_.resume();", "who_.resume();"),
    Mutant("a coroutine goes on beside the call that has told it", waiting,
           "  Outcome result() final {\n    await_continuation();\n", "  Outcome result() final {\n"),
    Mutant("what was granted to a coroutine that was destroyed stays held", waiting,
           "    over ? undo() : cancel();\n", "    if (!over) cancel();\n"),
    Mutant("the wait of a coroutine that was destroyed goes on", waiting,
           "    over ? undo() : cancel();\n", "    if (over) undo();\n"),
    Mutant("what is granted after its coroutine was destroyed stays held", waiting, "    if (left) return undo();\n", ""),
    Mutant("an operation of a context that is being destroyed begins", "include/latchkey/asio_form.inc",
           "    if (over_) return false;\n", ""),
    Mutant("an operation that nobody keeps holds its lock", "include/latchkey/asio_form.inc",
           "    if (call_) call_->abandon();\n  }\n\n  template", "  }\n\n  template"),
    Mutant("a lock that is granted while its object is destroyed is handed out", "recipes/line/lock_line.cpp",
           "    if (!mine) throw_destroyed(path_);\n", "    if (!mine) return guard{};\n"),
    Mutant("two calls wait with one ticket", "recipes/fair/fair_place.cpp",
           "require_no_call() const {\n  if (!caller_) return;\n", "require_no_call() const {\n  return;\n"),

    # The command under a lock.
    Mutant("the guard has no margin", "examples/command/guard.cpp",
           "terms_.kill_before == terms::never ? no_time : terms_.until - terms_.kill_before;",
           "terms_.kill_before == terms::never ? no_time : terms_.until;"),
    Mutant("the guard does not look at the time", "examples/command/guard.cpp", "    if (time >= kill_at()) {", "    if (false) {"),
    Mutant("the guard goes on without its runner", "examples/command/guard.cpp",
           "      closed_ = true;\n      return on(event::closed);", "      closed_ = true;\n      return;"),
    Mutant("the runner does not end what its guard has left", "examples/command/guarded_tree.hpp",
           "      kill_below_me();\n", ""),
    Mutant("the children of children are not killed", "examples/command/tree.cpp",
           "      at(child);\n      open.push_back(child);", "      at(child);"),
    Mutant("what runs have left is ended at the beginning alone", "examples/command/run.cpp",
           "    end_left_runs(how_, left_groups::with_processes);  // of those that had the lock before this one\n", ""),
)
