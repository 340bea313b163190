/* SPDX-License-Identifier: Apache-2.0 */
/* A session: its server, its client, and the callers. One atomic step each. */

/* Its server, or the leader, executes the next write. */
inline execute(s) {
  writes[s]?what, t, arg;
  moment = zxid;
  write(s);
  printf("the ensemble executes write %d of ticket %d, node %d: answer %d, zxid %d\n", what, t, arg, made, zxid);
  results[s]!made, zxid, moment;
  made = 0; what = 0; t = 0; arg = 0; moment = 0;
}

/* A write or a sync; `made` is the answer: a node, or NONE for a refusal. */
inline write(s) {
  made = arg;
  if
  :: what == CREATE -> execute_create(s, t)
  :: what == MAKE_PARENT -> parent = true
  :: what == REMOVE && ALIVE(arg) -> delete_node(arg, false)
  :: (what == REMOVE || what == CHECK || what == REQUEUE || what == REPLACE) && !ALIVE(arg) -> made = NONE
  :: what == CHECK && ALIVE(arg)
  :: (what == REQUEUE || what == REPLACE) && ALIVE(arg) ->
    delete_node(arg, false);
    made = created;
    if
    :: what == REQUEUE -> add_node(s, tickets[t].kind, counter); counter++
    :: else -> add_node(s, READ, nodes[arg].number)
    fi;
  :: what == SYNC
  fi;
}

/* A create of the connection before comes ahead of the first write or sync of this one, or never. */
inline settle_doubt(s) {
#if CUTS > 0
  if
  :: servers[s].in_doubt != NONE -> execute_doubt(s)
  :: servers[s].in_doubt != NONE -> servers[s].in_doubt = NONE
  :: servers[s].in_doubt == NONE
  fi;
#endif
  skip;
}

inline execute_doubt(s) {
  u = servers[s].in_doubt;
  servers[s].in_doubt = NONE;
  execute_create(s, u);
  tickets[u].found = made;
  made = 0;
  u = 0;
}

/* The client hears of the next deletion that it watches, or the next answer: in the order of their zxids. */
#define HEARS(s) (EVENT_PENDING(s) || nempty(results[s]) || requests[s]?[LIST,_,_,_] || \
                  requests[s]?[GET_BLOCKER,_,_,_] || requests[s]?[GET_OWN,_,_,_])

/* Which moment a read shows is any. */
inline choose_moment(s) {
  skip;
  d_step {
    moment = zxid;
    before = zxid;
    if
    :: nempty(results[s]) -> results[s]?<made, moment, before>
    :: empty(results[s])
    fi;
    if
    :: nempty(requests[s]) -> requests[s]?<what, t, step, arg>
    :: empty(requests[s])
    fi;
  }
  skip;
  if
  :: what != 0 && IS_READ(what) ->
    moment = before;      /* of its own writes that follow it sees none */
    do
    :: moment > servers[s].seen -> moment--
    :: break
    od;
  :: else
  fi;
#if CUTS > 0
  first_deletion(s);
#else
  skip;
  d_step { first_deletion(s) }
#endif
  skip;
}

inline hear(s) {
  if
  :: nearest != NONE ->
    arg = nearest;
    nearest = NONE;
    printf("session %d hears that node %d is gone\n", s, arg);
    servers[s].seen = (nodes[arg].died > servers[s].seen -> nodes[arg].died : servers[s].seen);
    servers[s].watches = servers[s].watches & ~BIT(arg);
    on_deleted(s);
  :: else ->
    servers[s].seen = moment;
    requests[s]?_, _, _, _;
    if
    :: IS_READ(what) -> hear_read(s)
    :: else ->
      results[s]?_, _, _;
      hear_write(s);
    fi;
  fi;
  made = 0; what = 0; t = 0; step = 0; arg = 0; moment = 0; before = 0;
}

/* Of those watched, not later than `moment`. Leaves it in `nearest`. After a reconnect: any of those that had been
   deleted before. */
inline first_deletion(s) {
  n = 0;
  do
  :: n < created ->
    if
    :: !HAS(servers[s].watches, n) || ALIVE(n) || nodes[n].died > moment
    :: else ->
      if
      :: nearest == NONE -> nearest = n
      :: nearest != NONE && nodes[n].died <= servers[s].seen && nodes[nearest].died <= servers[s].seen -> nearest = n
      :: nearest != NONE && (nodes[n].died < nodes[nearest].died) -> nearest = n
      :: nearest != NONE && nodes[n].died > nodes[nearest].died
      fi;
    fi;
    n++;
  :: else -> break
  od;
  n = 0;
}

inline hear_read(s) {
  if
  :: what == LIST ->
    set_of_children(s, set);
    printf("session %d hears for ticket %d: the children are the set %d, as of zxid %d\n", s, t, set, servers[s].seen);
    hear_list(s, t);
    set = 0;
  :: what != LIST && SEEN_ALIVE(s, arg) ->
    printf("session %d hears for ticket %d: node %d is there, and watched\n", s, t, arg);
    servers[s].watches = servers[s].watches | BIT(arg);
    if
    :: what == GET_OWN && my.node == arg && my.own_watch == 1 -> my.own_watch = 2
    :: what == GET_BLOCKER && step == 0 && my.state == WATCHING -> my.blocker_watched = true
    :: else
    fi;
  :: what == GET_OWN && !SEEN_ALIVE(s, arg) ->
    printf("session %d hears for ticket %d: its node %d is not there\n", s, t, arg);
    if
    :: my.node == arg && my.own_watch == 1 ->
      look_at_line(s, t);
      on_own_gone(s, t);
    :: else
    fi;
  :: what == GET_BLOCKER && !SEEN_ALIVE(s, arg) ->
    if
    :: step == 0 && my.state == WATCHING -> on_blocker_gone(t)
    :: else
    fi;
  fi;
}

inline hear_list(s, t) {
  if
  :: step == 0 && my.state == GRANTED -> on_verified(s, t)
  :: step == 0 && (my.state == LOOKING || my.state == ENQUEUING) && my.node != NONE -> decide(s, t, set)
  :: step == 0 && my.state == RECOVERING -> on_recovered(s, t)
  :: else
  fi;
}

inline hear_write(s) {
  printf("session %d hears for ticket %d: write %d (see queue.pml) is done, answer %d\n", s, t, what, made);
  if
  :: what == CREATE -> on_created(s, t)
  :: what == REMOVE ->
    clients[s].removing = clients[s].removing & ~BIT(arg);
    if
    :: made == NONE -> look_at_line(s, t)
    :: else -> confirm_line(arg)
    fi;
  :: what == CHECK && step == 0 && my.state == PROVING ->
    if
    :: made == NONE -> my.next = QUEUE
    :: made != NONE && !servers[s].expired -> clients[s].lease = true; my.next = ADMIT
    :: else
    fi;
  :: what == REQUEUE && step == 0 && my.state == ENQUEUING -> on_requeued(s, t)
  :: what == REPLACE && step == 0 && my.state == REPLACING -> on_replaced(s, t)
  :: else
  fi;
}

inline on_deleted(s) {
  t = 0;
  do
  :: t < TICKETS ->
    if
    :: SESSION(t) == s && my.node == arg && my.own_watch == 2 -> on_own_gone(s, t)
    :: SESSION(t) == s && my.state == WATCHING && my.blocker == arg && my.blocker_watched -> on_blocker_gone(t)
    :: else
    fi;
    t++;
  :: else -> break
  od;
  t = 0;
}

inline on_own_gone(s, t) {
  my.own_watch = 0;
  if
  :: my.state == GRANTED ->
    my.first = false;     /* who knows what else has been deleted */
    finish(s, t);
  :: my.state == REPLACING || my.state == OVER
  :: else -> my.next = QUEUE
  fi;
}

/* The parent may have been another one for a while: all of the line look again. */
inline look_at_line(s, t) {
  skip;
#ifndef NO_SECOND_LOOK
  if
  :: LINE(t) ->
    u = 0;
    do
    :: u < SHARED ->
      if
      :: tickets[u].state == FOLLOWING ->
        tickets[tickets[u].following].follower = NONE;
        tickets[u].following = NONE;
        tickets[u].next = LOOK;
      :: tickets[u].state == GRANTED && tickets[u].unlisted ->
        send(s, LIST, u, NONE)
      :: tickets[u].state == PROVING && tickets[u].unlisted -> tickets[u].next = LOOK
      :: else
      fi;
      u++;
    :: else -> break
    od;
    u = 0;
  :: else
  fi;
#endif
}

/* The one that was ahead had been there all the time. */
inline confirm_line(which) {
#ifdef EXCUSE_FOLLOWER
  u = 0;
  do
  :: u < SHARED ->
    if
    :: tickets[u].mistaken == which + 1 -> tickets[u].mistaken = 0
    :: else
    fi;
    u++;
  :: else -> break
  od;
  u = 0;
#endif
  skip
}

inline on_verified(s, t) {
  if
  :: !HAS(set, my.node) -> my.first = false; finish(s, t)
  :: else ->
    admit(t, set & ~clients[s].removing);
    if
    :: nearest == NONE -> my.unlisted = false; my.mistaken = 0
    :: else -> my.first = false; leave(s, t)
    fi;
    nearest = NONE;
  fi;
}

inline on_created(s, t) {
  clients[s].creating--;
  if
  :: step != 0 || my.state != ENQUEUING -> /* it has been left meanwhile */
    if
    :: made != NONE -> reap(s, made)
    :: else
    fi;
  :: else ->
    if
    :: made == NONE -> make_parent(s, t)
    :: else ->
      my.node = made;
      my.token = made + 1;
      take_number(s, t);
      if
      :: my.unlisted -> find_neighbour(s, t)
      :: else
      fi;
    fi;
  fi;
}

inline find_neighbour(s, t) {
  my.unlisted = false;
  if
  :: nodes[my.node].number > 0 -> follow(s, t, NONE)
  :: else -> yes = false
  fi;
  if
  :: !yes -> my.next = LOOK
  :: else
  fi;
  yes = false;
}

/* None of the numbers means anything any more. */
inline make_parent(s, t) {
  if
  :: LINE(t) ->
    u = 0;
    do
    :: u < SHARED ->
      tickets[u].in_line = false;
      tickets[u].follower = NONE;
      if
      :: tickets[u].following != NONE ->
        tickets[u].following = NONE;
        tickets[u].next = LOOK;
      :: else
      fi;
      u++;
    :: else -> break
    od;
    u = 0;
  :: else
  fi;
  new_step(t);
  send(s, MAKE_PARENT, t, NONE);
  forget_node(t);
  send_create(s, t);
}

/* If the number follows on the former one, nobody came between. */
inline on_requeued(s, t) {
  clients[s].creating--;
  if
  :: made == NONE -> begin(s, t)
  :: else ->
    my.node = made;
    take_number(s, t);
    if
    :: nodes[made].number == nodes[my.former].number + 1 ->
      my.turn++;          /* the token is the former one's */
      my.unlisted = true;
      my.ahead = 0;
      my.last = NONE;
      my.behind = 0;
      my.next = ADMIT;
    :: nodes[made].number != nodes[my.former].number + 1 && my.last != NONE &&
       nodes[made].number == nodes[my.last].number + 1 ->
      my.token = made + 1;
      my.turn = 0;
      my.ahead = my.behind;
      my.behind = 0;
      u = my.last;
      my.last = NONE;
      watch(s, t, u);
      u = 0;
    :: else ->
      my.token = made + 1;
      my.turn = 0;
      my.next = LOOK;
    fi;
    my.former = NONE;
  fi;
}

inline on_replaced(s, t) {
  if
  :: made == NONE ->
    my.first = false;
    finish(s, t);
  :: else ->
    my.node = made;
    my.kind = READ;
    my.own_watch = 0;
    my.turn++;
    grant(s, t);
  fi;
}

inline on_recovered(s, t) {
  if
  :: my.found != NONE && HAS(set, my.found) ->
    my.node = my.found;
    my.token = my.node + 1;
    my.create_lost = false;
    take_number(s, t);
    my.next = LOOK;
  :: else -> my.next = QUEUE
  fi;
  my.found = NONE;
}

/* Faults ---------- */

/* What is under way is executed, or lost, or still on its way; what has not been heard is lost. */
inline cut(s) {
  printf("session %d loses its connection\n", s);
  clients[s].connected = false;
  clients[s].creating = 0;
  do
  :: nempty(requests[s]) ->
    requests[s]?what, t, step, arg;
    made = NONE;
    if
    :: IS_READ(what)
    :: !IS_READ(what) && nempty(results[s]) -> results[s]?made, _, _
    :: !IS_READ(what) && empty(results[s]) -> writes[s]?_, _, _; write(s)
    :: !IS_READ(what) && empty(results[s]) -> writes[s]?_, _, _
    :: what == CREATE && empty(results[s]) && servers[s].in_doubt == NONE -> writes[s]?_, _, _; servers[s].in_doubt = t
    fi;
    if
    :: (what == CREATE || what == REQUEUE) && made != NONE -> my.found = made
    :: else
    fi;
  :: empty(requests[s]) -> break
  od;
  what = 0; step = 0; arg = 0; made = 0;
  t = 0;
  do
  :: t < TICKETS ->
    if
    :: SESSION(t) == s -> disconnect(s, t)
    :: else
    fi;
    t++;
  :: else -> break
  od;
  t = 0;
}

#define AWAITS_ANSWER(t) ((my.state == ENQUEUING && my.node != NONE) || my.state == LOOKING || \
                          my.state == PROVING || my.state == RECOVERING || \
                          (my.state == WATCHING && !my.blocker_watched))

inline disconnect(s, t) {
  my.own_watch = (my.own_watch == 1 -> 0 : my.own_watch);
  if
  :: my.state == ENQUEUING && my.node == NONE ->
    my.create_lost = true;
    my.state = DISCONNECTED;
    if
    :: my.former != NONE -> clients[s].removing = clients[s].removing | BIT(my.former)
    :: else
    fi;
    my.former = NONE;
    my.last = NONE;
    my.behind = 0;
    my.turn = 0;
    new_step(t);
  :: AWAITS_ANSWER(t) ->
    my.state = DISCONNECTED;
    new_step(t);
  :: else
  fi;
}

/* Another server; it has seen all that the client has heard of. Of the nodes watched that it finds deleted the client
   hears first, in any order. */
inline reconnect(s) {
  printf("session %d reconnects\n", s);
  clients[s].connected = true;
  do
  :: servers[s].seen < zxid -> servers[s].seen++
  :: break
  od;
  do
  :: n < created ->
    if
    :: HAS(clients[s].removing, n) -> send(s, REMOVE, t, n)
    :: else
    fi;
    n++;
  :: else -> break
  od;
  n = 0;
  t = 0;
  do
  :: t < TICKETS ->
    if
    :: SESSION(t) == s -> resume(s, t)
    :: else
    fi;
    t++;
  :: else -> break
  od;
  t = 0;
}

inline resume(s, t) {
  if
  :: my.state == WATCHING || my.state == FOLLOWING -> my.reconnected = true
  :: my.state == DISCONNECTED && my.node != NONE -> look(s, t)
  :: my.state == DISCONNECTED && my.create_lost ->
    my.state = RECOVERING;
    send(s, SYNC, t, NONE);
    send(s, LIST, t, NONE);
  :: my.state == DISCONNECTED && my.node == NONE && !my.create_lost -> begin(s, t)
  :: else
  fi;
}

/* Time has passed without a proof: the grants are over. */
inline lapse(s) {
  clients[s].lease = false;
  t = 0;
  do
  :: t < TICKETS ->
    if
    :: SESSION(t) == s && my.state == GRANTED -> leave(s, t)
    :: else
    fi;
    t++;
  :: else -> break
  od;
  t = 0;
}

/* Only then is it over for the ensemble. */
inline expire(s) {
  printf("session %d expires\n", s);
  servers[s].expired = true;
  n = 0;
  do
  :: n < created ->
    if
    :: ALIVE(n) && nodes[n].owner == s -> delete_node(n, false)
    :: else
    fi;
    n++;
  :: else -> break
  od;
  n = 0;
}

/* The client hears that, and opens another session. */
inline begin_session(s) {
  do
  :: nempty(requests[s]) -> requests[s]?what, t, step, arg
  :: nempty(writes[s]) -> writes[s]?_, _, _
  :: nempty(results[s]) -> results[s]?_, _, _
  :: empty(requests[s]) && empty(writes[s]) && empty(results[s]) -> break
  od;
  what = 0; t = 0; step = 0; arg = 0;
  servers[s].expired = false;
  servers[s].watches = 0;
  servers[s].seen = zxid;
  clients[s].lease = true;
  clients[s].removing = 0;
  clients[s].creating = 0;
  t = 0;
  do
  :: t < TICKETS ->
    if
    :: SESSION(t) == s && my.state != IDLE && my.state != OVER ->
      my.following = NONE;
      my.follower = NONE;
      my.in_line = false;
      my.next = QUEUE;
    :: else
    fi;
    t++;
  :: else -> break
  od;
  t = 0;
}

/* Callers ---------- */

#define STATE(t) tickets[t].state
#define WAITS(t) (STATE(t) == LOOKING || STATE(t) == WATCHING || STATE(t) == FOLLOWING || STATE(t) == PROVING)
#ifdef NO_OWN_WATCH
#define WATCHES_ITSELF(t) (STATE(t) == GRANTED)
#else
#define WATCHES_ITSELF(t) (STATE(t) == GRANTED || WAITS(t))
#endif

/* A neighbour keeps the place from being left in one transaction with the next create. */
#define ALONE(t) (!LINE(t) || \
                  (clients[0].creating == 0 && (t == 0 || !tickets[0].in_line) && (t == 1 || !tickets[1].in_line)))
#define MAY_REQUEUE(t) (tickets[t].kind != READ && tickets[t].follower == NONE && ALONE(t))

inline leave_and_requeue(s, t) {
  my.former = my.node;
  my.in_line = false;
  my.node = NONE;
  my.own_watch = 0;
  my.first = false;
  my.unlisted = false;
  my.unaware = false;
  new_step(t);
  my.state = ENQUEUING;
  clients[s].creating++;
  send(s, REQUEUE, t, my.former);
}

inline downgrade(s, t) {
  new_step(t);
  my.state = REPLACING;
  send(s, REPLACE, t, my.node);
}

inline watch_own(s, t) {
  my.own_watch = 1;
  send(s, GET_OWN, t, my.node);
}

/* What the caller of ticket c may do next. */
#define CALLER(c) \
  :: SESSION(c) == s && STATE(c) == IDLE -> act = BEGIN; t = c \
  :: SESSION(c) == s && STATE(c) == GRANTED -> act = UNLOCK; t = c \
  :: SESSION(c) == s && WATCHES_ITSELF(c) && tickets[c].own_watch == 0 && tickets[c].node != NONE && \
     clients[s].connected -> act = WATCH_OWN; t = c \
  :: SESSION(c) == s && cancels > 0 && WAITS(c) -> act = CANCEL; t = c \
  :: SESSION(c) == s && requeues > 0 && STATE(c) == GRANTED && clients[s].connected && MAY_REQUEUE(c) -> \
     act = LEAVE_AND_REQUEUE; t = c \
  :: SESSION(c) == s && downgrades > 0 && STATE(c) == GRANTED && tickets[c].kind == WRITE && clients[s].connected -> \
     act = DOWNGRADE; t = c

#define RESTS(t) (tickets[t].state == IDLE || tickets[t].state == OVER)
#define IDLES(s) (len(requests[s]) == 0 && (s == 0 -> RESTS(0) && (SHARED < 2 || RESTS(1)) && (SHARED < 3 || RESTS(2)) \
                                                : RESTS(s + SHARED - 1)))

/* What makes no difference any more is forgotten, so that fewer states differ. */
inline tidy(s) {
  /* A watch for which no ticket waits. */
  set = 0;
  u = 0;
  do
  :: u < TICKETS ->
    if
    :: SESSION(u) == s ->
      set = set | (tickets[u].own_watch == 2 -> BIT(tickets[u].node) : 0);
      set = set | (tickets[u].blocker_watched -> BIT(tickets[u].blocker) : 0);
    :: else
    fi;
    u++;
  :: else -> break
  od;
  servers[s].watches = servers[s].watches & set;
  set = 0;
  /* What a session has seen that asks for nothing: its next request is a write. */
  made = zxid;
  u = 0;
  do
  :: u < SESSIONS ->
    if
    :: IDLES(u) -> servers[u].seen = zxid
    :: else -> made = (servers[u].seen < made -> servers[u].seen : made)
    fi;
    u++;
  :: else -> break
  od;
  u = 0;
  /* The order of what all have seen. */
  n = 0;
  do
  :: n < created ->
    nodes[n].born = (nodes[n].born <= made -> 0 : nodes[n].born);
    nodes[n].died = (nodes[n].died <= made && !ALIVE(n) -> 1 : nodes[n].died);
    n++;
  :: else -> break
  od;
  n = 0;
  made = 0;
}

proctype session(byte s) {
  byte t, u, w, n, what, step, arg, set, nearest = NONE, made, moment, before, act;
  byte stale_what, stale_ticket, stale, stale_arg;
  bool yes;
end:
  do
  :: atomic {
      if
      :: clients[s].connected && !servers[s].expired && nempty(writes[s]) -> act = EXECUTE; settle_doubt(s)
      :: clients[s].connected && HEARS(s) -> act = HEAR; choose_moment(s)
#if CUTS > 0
      :: cuts > 0 && clients[s].connected -> cuts--; cut(s)
      :: !clients[s].connected -> reconnect(s)
      :: servers[s].in_doubt != NONE -> execute_doubt(s)
#endif
#if EXPIRIES > 0
      :: expiries > 0 && clients[s].lease -> act = LAPSE
      :: !clients[s].lease && !servers[s].expired -> act = EXPIRE
      :: servers[s].expired -> act = BEGIN_SESSION
#endif
      CALLER(0)
      CALLER(1)
#if TICKETS > 2
      CALLER(2)
#endif
#if TICKETS > 3
      CALLER(3)
#endif
      fi;
      d_step {
        if
        :: act == 0
        :: act == EXECUTE -> execute(s)
        :: act == HEAR -> hear(s)
        :: act == BEGIN -> printf("ticket %d queues\n", t); begin(s, t)
        :: act == UNLOCK -> printf("ticket %d unlocks\n", t); leave(s, t)
        :: act == WATCH_OWN -> printf("ticket %d asks for a watch on its own node\n", t); watch_own(s, t)
        :: act == CANCEL -> cancels--; leave(s, t)
        :: act == LEAVE_AND_REQUEUE -> requeues--; leave_and_requeue(s, t)
        :: act == DOWNGRADE -> downgrades--; downgrade(s, t)
#if EXPIRIES > 0
        :: act == LAPSE -> expiries--; lapse(s)
        :: act == EXPIRE -> expire(s)
        :: act == BEGIN_SESSION -> begin_session(s)
#endif
        fi;
        act = 0;
        t = 0;
        settle(s);
        tidy(s);
      }
    }
  od
}

/* When nothing more can happen, everybody has been served: P2. */
proctype monitor() {
  byte t;
  timeout ->
  do
  :: t < TICKETS ->
    assert(my.state == OVER);
    t++;
  :: else -> break
  od
}

init {
  byte t;
  atomic {
    do
    :: t < TICKETS ->
      my.kind = KIND(t);
      t++;
    :: else -> break
    od;
    t = 0;
    do
    :: t < SESSIONS ->
      run session(t);
      t++;
    :: else -> break
    od;
    run operator();
    run monitor();
  }
}
