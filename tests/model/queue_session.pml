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
  :: what == MAKE_PARENT -> execute_make_parent()
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
#define HEARS_READ(s) (requests[s]?[LIST,_,_,_] || requests[s]?[GET_BLOCKER,_,_,_] || requests[s]?[GET_OWN,_,_,_] || \
                       requests[s]?[GET_PARENT,_,_,_])
#define HEARS(s) (EVENT_PENDING(s) || len(results[s]) > 0 || HEARS_READ(s))

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
  :: nearest == PARENT ->
    nearest = NONE;
    arg = servers[s].parent_watch;
    printf("session %d hears that parent %d is gone, or another one: %d\n", s, arg, servers[s].parent_changed);
    servers[s].seen = (parents[arg].died > servers[s].seen -> parents[arg].died : servers[s].seen);
    servers[s].parent_watch = NONE;
    clients[s].parent_watch = 0;
    if
    :: servers[s].parent_changed -> on_parent_changed(s)
    :: else -> on_parent_deleted(s)
    fi;
    servers[s].parent_changed = false;
  :: nearest != NONE && nearest != PARENT ->
    arg = nearest;
    nearest = NONE;
    printf("session %d hears that node %d is gone\n", s, arg);
    servers[s].seen = (nodes[arg].died > servers[s].seen -> nodes[arg].died : servers[s].seen);
    servers[s].watches = servers[s].watches & ~BIT(arg);
    on_deleted(s);
  :: nearest == NONE ->
    servers[s].seen = moment;
    requests[s]?_, _, _, _;
#if defined(DIRECT) && CUTS > 0
    u = 0;
    do
    :: u < TICKETS -> tickets[u].reconnected = tickets[u].reconnected && SESSION(u) != s; u++
    :: else -> break
    od;
    u = 0;
#endif
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
  if
  :: PARENT_EVENT_PENDING(s) && parents[servers[s].parent_watch].died <= moment ->
    if
    :: nearest == NONE -> nearest = PARENT
    :: nearest != NONE && parents[servers[s].parent_watch].died <= servers[s].seen && nodes[nearest].died <= servers[s].seen ->
      nearest = PARENT
    :: nearest != NONE && nodes[nearest].died > parents[servers[s].parent_watch].died -> nearest = PARENT
    :: nearest != NONE && nodes[nearest].died <= parents[servers[s].parent_watch].died
    fi;
  :: else
  fi;
}

inline hear_read(s) {
  if
  :: what == GET_PARENT -> hear_parent(s)
  :: what == LIST ->
    set_of_children(s, set);
    printf("session %d hears for ticket %d: the children are the set %d, as of zxid %d\n", s, t, set, servers[s].seen);
    hear_list(s, t);
    set = 0;
  :: (what == GET_BLOCKER || what == GET_OWN) && SEEN_ALIVE(s, arg) ->
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
    :: my.node == arg && my.own_watch == 1 -> on_own_gone(s, t)
    :: else
    fi;
  :: what == GET_BLOCKER && !SEEN_ALIVE(s, arg) ->
    if
    :: step == 0 && my.state == WATCHING -> on_blocker_gone(t)
    :: else
    fi;
  fi;
}

inline hear_parent(s) {
  n = 0;
  do
  :: n <= parent ->
    if
    :: SEEN_PARENT(s, n) -> servers[s].parent_watch = n
    :: else
    fi;
    n++;
  :: else -> break
  od;
  n = 0;
  clients[s].parent_watch = (servers[s].parent_watch == NONE -> 0 : 2);
  printf("session %d hears that the parent is %d (255: missing)\n", s, servers[s].parent_watch);
}

inline hear_list(s, t) {
  if
  :: step == 0 && (my.state == LOOKING || my.state == ENQUEUING) && my.node != NONE -> decide(s, t, set)
  :: step == 0 && my.state == RECOVERING -> on_recovered(s, t)
  :: else
  fi;
}

inline hear_write(s) {
  printf("session %d hears for ticket %d: write %d (see queue.pml) is done, answer %d\n", s, t, what, made);
  if
  :: what == CREATE -> on_created(s, t)
  :: what == REMOVE -> clients[s].removing = clients[s].removing & ~BIT(arg)
#if defined(DIRECT) && CUTS > 0
  :: what == CHECK && step == 0 && my.state == WATCHING ->
    if
    :: made == NONE -> my.next = QUEUE
    :: else -> admit_told(s, t)
    fi;
#endif
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

/* It had no children: so the nodes of the line are gone, whether they are watched or not. */
inline on_parent_deleted(s) {
  set = 0;
  t = 0;
  do
  :: t < SHARED ->
    set = set | (my.in_line -> BIT(t) : 0);
    my.unaware = my.unaware || my.in_line;    /* this was it */
    t++;
  :: else -> break
  od;
  forget_line();
  t = 0;
  do
  :: t < SHARED ->
    if
    :: HAS(set, t) -> on_own_gone(s, t)
    :: else
    fi;
    t++;
  :: else -> break
  od;
  t = 0;
  set = 0;
}

inline on_parent_changed(s) {
  u = 0;
  do
  :: u < SHARED -> tickets[u].certain = false; u++
  :: else -> break
  od;
  u = 0;
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

inline make_parent(s, t) {
  if
  :: LINE(t) -> forget_line()
  :: else
  fi;
  new_step(t);
  send(s, MAKE_PARENT, NONE, NONE);
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
  clients[s].parent_watch = (clients[s].parent_watch == 1 -> 0 : clients[s].parent_watch);
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
  my.asked = false;
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
  servers[s].parent_changed = PARENT_EVENT_PENDING(s) && SEEN_PARENT(s, parent) && servers[s].parent_watch != parent;
  do
  :: n < created ->
    if
    :: HAS(clients[s].removing, n) -> send(s, REMOVE, NONE, n)
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
    send(s, SYNC, NONE, NONE);
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
  servers[s].parent_watch = NONE;
  servers[s].parent_changed = false;
  servers[s].seen = zxid;
  clients[s].lease = true;
  clients[s].removing = 0;
  clients[s].creating = 0;
  clients[s].parent_watch = 0;
  t = 0;
  do
  :: t < TICKETS ->
    if
    :: SESSION(t) == s && my.state != IDLE && my.state != OVER ->
      my.following = NONE;
      my.follower = NONE;
      my.in_line = false;
      my.certain = false;
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
#ifdef UNWATCHED
#define WATCHES_ITSELF(t) false
#elif defined(NO_OWN_WATCH)
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
  my.certain = false;
  my.node = NONE;
  my.own_watch = 0;
  my.first = false;
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
     act = DOWNGRADE; t = c \
  HEARS_RELEASE(c)

#ifdef DIRECT
/* Perhaps before its watch is answered: it subscribes by what an earlier entry of the same client has advertised. */
#define IS_TOLD(c) (SESSION(c) == s && STATE(c) == WATCHING && clients[s].connected && !tickets[c].asked && \
                    HAS(said, tickets[c].blocker))
#define HEARS_RELEASE(c) \
  :: IS_TOLD(c) -> act = TOLD; t = c \
  :: IS_TOLD(c) -> act = TOLD_AND_SEE_OFF; t = c \
  :: CUTS > 0 && IS_TOLD(c) -> act = TOLD_AND_ASK; t = c
#else
#define HEARS_RELEASE(c)
#endif

#define RESTS(t) (tickets[t].state == IDLE || tickets[t].state == OVER)
#define IDLES(s) (len(requests[s]) == 0 && !PARENT_EVENT_PENDING(s) && (s == 0 -> RESTS(0) && (SHARED < 2 || RESTS(1)) && (SHARED < 3 || RESTS(2)) \
                                                : RESTS(s + SHARED - 1)))

#if CUTS > 0 || defined(NO_OWN_WATCH)
#define AWAITS_WRITE(s) false
#else
#define AWAITS_WRITE(s) (len(requests[s]) > 0 && !HEARS(s))
#endif

#define MENTION(node) ((node) == NONE -> 0 : BIT(node))

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
  /* An answer that nobody waits for. */
  w = len(requests[s]);
  do
  :: w > 0 ->
    requests[s]?what, t, step, arg;
    if
    :: what == GET_OWN && (my.node != arg || my.own_watch != 1)
    :: (what == LIST || what == GET_BLOCKER) && step == 1
    :: else -> requests[s]!what, t, step, arg
    fi;
    w--;
  :: else -> break
  od;
  what = 0; t = 0; step = 0; arg = 0;
  /* The largest token so far, if all that can still come are larger. */
  u = 0;
  do
  :: u < TICKETS && (tickets[u].token == 0 || TOKEN(u) > last_token) -> u++
  :: u < TICKETS && tickets[u].token != 0 && TOKEN(u) <= last_token -> break
  :: u == TICKETS ->
    last_token = 0;
    last_exclusive = 0;
    break
  od;
  /* What a session has seen whose next answer is that of a write. */
  moment = zxid;
  u = 0;
  do
  :: u < SESSIONS ->
    if
    :: IDLES(u) || AWAITS_WRITE(u) -> servers[u].seen = zxid
    :: else -> moment = (servers[u].seen < moment -> servers[u].seen : moment)
    fi;
    u++;
  :: else -> break
  od;
  /* A node that all have seen deleted, and that is no ticket's. */
  set = 0;
  u = 0;
  do
  :: u < TICKETS ->
    set = set | MENTION(tickets[u].node) | MENTION(tickets[u].blocker) | MENTION(tickets[u].last) |
          MENTION(tickets[u].former) | MENTION(tickets[u].found);
    u++;
  :: else -> break
  od;
  n = 0;
  do
  :: n < created ->
    if
    :: !ALIVE(n) && !HAS(set, n) && nodes[n].died <= moment ->
      nodes[n].number = 0;
      nodes[n].kind = 0;
      nodes[n].owner = 0;
      nodes[n].under = 0;
      nodes[n].forced = false;
      said = said & ~BIT(n);
    :: else
    fi;
    n++;
  :: else -> break
  od;
  set = 0;
  forget_order();
  u = 0;
  n = 0;
  moment = 0;
}

/* The order of what all have seen, up to `moment`. What came later is counted from there. */
#define LATER(z) ((z) <= moment -> 0 : (z) - moment + 1)
#define DIED(z) ((z) == 0 -> 0 : ((z) <= moment -> 1 : (z) - moment + 1))
inline forget_order() {
  n = 0;
  do
  :: n < created ->
    nodes[n].born = LATER(nodes[n].born);
    nodes[n].died = DIED(nodes[n].died);
    n++;
  :: else -> break
  od;
  n = 0;
  do
  :: n <= parent ->
    parents[n].born = LATER(parents[n].born);
    parents[n].died = DIED(parents[n].died);
    n++;
  :: else -> break
  od;
  u = 0;
  do
  :: u < SESSIONS ->
    servers[u].seen = servers[u].seen - moment + 1;
    n = 0;
    do
    :: n < len(results[u]) ->
      results[u]?what, made, before;
      results[u]!what, made - moment + 1, before - moment + 1;
      n++;
    :: else -> break
    od;
    u++;
  :: else -> break
  od;
  zxid = zxid - moment + 1;
  what = 0; made = 0; before = 0;
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
        :: act == UNLOCK -> printf("ticket %d unlocks\n", t); say(t); leave(s, t)
        :: act == WATCH_OWN -> printf("ticket %d asks for a watch on its own node\n", t); watch_own(s, t)
        :: act == CANCEL ->
          cancels--;
#ifdef WAITERS_TELL
          say(t);
#endif
          leave(s, t);
        :: act == LEAVE_AND_REQUEUE -> requeues--; say(t); leave_and_requeue(s, t)
#ifdef DIRECT
        :: act == TOLD || act == TOLD_AND_SEE_OFF || act == TOLD_AND_ASK -> be_told(s, t)
#endif
        :: act == DOWNGRADE ->
          downgrades--;
#ifdef DOWNGRADE_TELLS
          say(t);
#endif
          downgrade(s, t);
#if EXPIRIES > 0
        :: act == LAPSE -> expiries--; lapse(s)
        :: act == EXPIRE -> expire(s)
        :: act == BEGIN_SESSION -> begin_session(s)
#endif
        fi;
        act = 0;
        t = 0;
        settle(s);
      }
      skip;
      d_step { tidy(s) }
    }
  od
}

/* Nothing more can happen, but for faults. */
#define ASKS_NOTHING(s) (len(requests[s]) == 0 && !EVENT_PENDING(s) && clients[s].connected && clients[s].lease && \
                         !servers[s].expired && servers[s].in_doubt == NONE)
#define DOES_NOTHING(t) (STATE(t) != IDLE && STATE(t) != GRANTED && ASKS_NOTHING(SESSION(t)) && \
                         !(WATCHES_ITSELF(t) && tickets[t].own_watch == 0 && tickets[t].node != NONE))
#if TICKETS == 2
#define STILL (DOES_NOTHING(0) && DOES_NOTHING(1))
#elif TICKETS == 3
#define STILL (DOES_NOTHING(0) && DOES_NOTHING(1) && DOES_NOTHING(2))
#else
#define STILL (DOES_NOTHING(0) && DOES_NOTHING(1) && DOES_NOTHING(2) && DOES_NOTHING(3))
#endif

/* Then everybody has been served: P2. */
proctype monitor() {
  byte t;
end:
  atomic {
    if
    :: STILL
    :: timeout
    fi;
    do
    :: t < TICKETS ->
      assert(my.state == OVER);
      t++;
    :: else -> break
    od;
  }
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
