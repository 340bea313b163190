/* SPDX-License-Identifier: Apache-2.0 */
/* A ticket: src/queue/queue_entry.cpp, entry_*.cpp. What one ticket does to another is put into `next`, and done by `settle`. */

typedef ticket {
  byte state;
  byte kind;
  byte node = NONE;
  byte blocker = NONE;
  bool blocker_watched;
  byte ahead;             /* how many there were in the last list */
  byte last = NONE;       /* of those behind when a list let it in */
  byte behind;            /* how many there were */
  bool first;             /* nobody is ahead any more */
  bool create_answered;
  bool create_lost;
  byte found = NONE;      /* the node of a create whose answer was lost: what the unique name in a list tells */
  bool unlisted;          /* the create was sent without a list */
  bool in_line;
  bool certain;           /* in the line, and created under the parent that was watched then */
  byte following = NONE;
  byte follower = NONE;
  byte own_watch;         /* 0: none, 1: sent, 2: set */
  bool reconnected;       /* since then there has been neither a list nor another answer */
  bool asked;             /* the leader, whether its node is there: then it is let in */
  byte former = NONE;     /* the node that is left in one transaction with the create */
  byte token;             /* the czxid, */
  byte turn;              /* and the turn */
  /* Not known to the client. */
  bool unaware;           /* nothing is on its way to tell it that its node has been deleted */
  byte next;
};
ticket tickets[TICKETS];

/* What is to be done next. */
#define NOTHING 0
#define QUEUE 1
#define LOOK 2
#define ADMIT 3

typedef client {
  bool connected = true;
  bool lease = true;      /* grants are valid: while it is, the session lives */
  byte removing;          /* nodes of the reaper */
  byte creating;          /* how many creates of its object are under way */
  byte parent_watch;      /* of the line. 0: none, 1: sent, 2: set */
};
client clients[SESSIONS];

byte said;                /* the nodes whose release has been told */

/* For the properties. */
#define TOKEN(t) (tickets[t].token * 8 + tickets[t].turn)
byte last_token;          /* of all grants */
byte last_exclusive;      /* of those of writers */

#define my tickets[t]
#define IS_MINE(u) (SESSION(u) == SESSION(t))
#define EXCLUSIVE(t) (tickets[t].kind != READ)
#define BELIEVES(t) (tickets[t].state == GRANTED && clients[SESSION(t)].lease)
#define LINE(t) (SHARED > 1 && SESSION(t) == 0)

/* Whether a ticket may follow the one with the number before its own. */
#ifdef NO_PARENT_WATCH
#define COMPARABLE(t, u) true
#else
#define COMPARABLE(t, u) (tickets[t].certain && tickets[u].certain)
#endif

#ifdef NO_NEW_LIST
#define MAY_TRUST(t) true
#else
#define MAY_TRUST(t) (!my.reconnected)
#endif

#ifdef NO_OWN_WATCH
#define OWN_DEATH_UNHEARD(t) (my.own_watch == 0 && nodes[my.node].died <= servers[s].seen)
#else
#define OWN_DEATH_UNHEARD(t) false
#endif

#if TICKETS == 2
#define pending_next(s) (tickets[0].next + tickets[1].next)
#elif TICKETS == 3
#define pending_next(s) (tickets[0].next + tickets[1].next + tickets[2].next)
#else
#define pending_next(s) (tickets[0].next + tickets[1].next + tickets[2].next + tickets[3].next)
#endif

inline send(s, what, t, arg) {
  assert(nfull(requests[s]));
  requests[s]!what, t, 0, arg;
  if
  :: IS_READ(what)
  :: else -> writes[s]!what, t, arg
  fi;
}

/* Answers that are still to come are stale from here on. */
inline new_step(t) {
  w = 0;
  do
  :: w < len(requests[s]) ->
    requests[s]?stale_what, stale_ticket, stale, stale_arg;
    requests[s]!stale_what, stale_ticket, (stale_ticket == t -> 1 : stale), stale_arg;
    w++;
  :: else -> break
  od;
  w = 0; stale_what = 0; stale_ticket = 0; stale = 0; stale_arg = 0;
  my.blocker = NONE;
  my.blocker_watched = false;
#if CUTS > 0
  my.asked = false;
#endif
}

inline forget_node(t) {
  my.node = NONE;
  my.create_lost = false;
  my.create_answered = false;
  my.first = false;
  my.own_watch = 0;
  my.unlisted = false;
  my.unaware = false;
  my.token = 0;
  my.turn = 0;
}

inline reap(s, which) {
  clients[s].removing = clients[s].removing | BIT(which);
  if
  :: clients[s].connected -> send(s, REMOVE, NONE, which)
  :: else
  fi;
}

/* Nothing of it stays but what a stale create may bring. */
inline finish(s, t) {
  new_step(t);
  my.state = OVER;
  step_out(t);
  forget_node(t);
  my.ahead = 0;
  my.behind = 0;
  my.last = NONE;
  my.reconnected = false;
  my.former = NONE;
}

/* Leaves the line: the one behind waits for the one ahead, or is let in. */
inline step_out(t) {
  my.in_line = false;
  my.certain = false;
  if
  :: my.following != NONE -> tickets[my.following].follower = my.follower
  :: else
  fi;
  if
  :: my.follower != NONE ->
    tickets[my.follower].following = my.following;
    if
    :: my.following != NONE
    :: my.following == NONE && my.first -> tickets[my.follower].next = ADMIT
    :: else -> tickets[my.follower].next = LOOK
    fi;
  :: else
  fi;
  my.following = NONE;
  my.follower = NONE;
}

/* Released: its node was let in alone, and is closed. Once said it may be heard at any time, often, or never. */
inline say(t) {
#ifdef DIRECT
  said = said | (MAY_TELL(t) -> BIT(my.node) : 0);
#else
  skip;
#endif
}

/* By the one ahead. Right after a reconnect the leader is asked first; with direct_then_sync it always is. (That is left
   out where no connection is lost, as spin takes no longer d_step.) */
inline be_told(s, t) {
  printf("ticket %d is told of the release of node %d\n", t, my.blocker);
#if CUTS == 0
  admit_told(s, t);
#else
  if
  :: MAY_TRUST(t) && act != TOLD_AND_ASK -> admit_told(s, t)
  :: else ->
    my.asked = true;
    send(s, CHECK, t, my.node);
  fi;
#endif
}

/* If the one ahead has died since, its node is deleted for it. */
inline admit_told(s, t) {
  if
  :: act == TOLD_AND_SEE_OFF -> reap(s, my.blocker)
  :: else
  fi;
  my.last = NONE;
  my.behind = 0;
  my.next = ADMIT;
}

inline leave(s, t) {
  if
  :: my.node != NONE -> reap(s, my.node)
  :: else
  fi;
  finish(s, t);
}

inline begin(s, t) {
  forget_node(t);
  my.former = NONE;
  new_step(t);
  if
  :: clients[s].connected -> send_create(s, t)
  :: else -> my.state = DISCONNECTED
  fi;
}

inline is_alone(s, t, answer) {
  answer = true;
  if
  :: LINE(t) ->
    answer = clients[s].creating == 0;
    u = 0;
    do
    :: u < SHARED -> answer = answer && !tickets[u].in_line; u++
    :: else -> break
    od;
    u = 0;
  :: else
  fi;
}

inline send_create(s, t) {
  my.state = ENQUEUING;
  is_alone(s, t, yes);
#ifndef NO_PARENT_WATCH
  if
  :: !yes && clients[s].parent_watch == 0 ->
    clients[s].parent_watch = 1;
    send(s, GET_PARENT, NONE, NONE);
  :: else
  fi;
#endif
  send(s, CREATE, t, NONE);
  my.unlisted = !yes;     /* until the answer: whether no list has been sent */
  if
  :: yes -> send(s, LIST, t, NONE)
  :: else
  fi;
  clients[s].creating++;
  yes = false;
}

inline look(s, t) {
  new_step(t);
  if
  :: clients[s].connected ->
    my.state = LOOKING;
    my.reconnected = false;
    send(s, LIST, t, NONE);
  :: else -> my.state = DISCONNECTED
  fi;
}

inline watch(s, t, which) {
  new_step(t);
  my.state = WATCHING;
  my.blocker = which;
  send(s, GET_BLOCKER, t, which);
}

/* None of the numbers means anything any more. */
inline forget_line() {
  u = 0;
  do
  :: u < SHARED ->
    tickets[u].in_line = false;
    tickets[u].certain = false;
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
}

/* One parent gives a number once. */
inline take_number(s, t) {
  if
  :: LINE(t) ->
    yes = true;
    u = 0;
    do
    :: u < SHARED ->
      yes = yes && !(u != t && tickets[u].in_line && nodes[tickets[u].node].number == nodes[my.node].number);
      u++;
    :: else -> break
    od;
    u = 0;
    if
    :: !yes ->
      printf("ticket %d has the number of another one\n", t);
      forget_line();
    :: else
    fi;
    my.in_line = true;
    my.certain = clients[s].parent_watch == 2;
    yes = false;
  :: else
  fi;
}

/* Attaches to the ticket whose node is `which` or, without one, to that with the number before; `yes`: it has. */
inline follow(s, t, which) {
  yes = false;
  u = 0;
  do
  :: u < SHARED && LINE(t) ->
    if
    :: u != t && tickets[u].in_line && tickets[u].follower == NONE && !yes &&
        (which != NONE -> tickets[u].node == which
                       : nodes[tickets[u].node].number + 1 == nodes[my.node].number && COMPARABLE(t, u)) ->
      yes = true;
      new_step(t);
      my.state = FOLLOWING;
      my.following = u;
      /* P4. */
      assert(nodes[my.node].under == nodes[tickets[u].node].under);
      tickets[u].follower = t;
    :: else
    fi;
    u++;
  :: else -> break
  od;
  u = 0;
}

/* Admission: a pure function of the list. */
inline admit(t, set) {
  n = 0;
  nearest = NONE;
  my.ahead = 0;
  my.behind = 0;
  my.last = NONE;
  do
  :: n < created ->
    if
    :: HAS(set, n) && n != my.node && BLOCKS(nodes[n].kind, my.kind) ->
      if
      :: nodes[n].number < nodes[my.node].number ->
        my.ahead++;
        if
        :: nearest == NONE -> nearest = n
        :: nearest != NONE && nodes[nearest].number < nodes[n].number -> nearest = n
        :: else
        fi;
      :: else ->
        my.behind++;
        if
        :: my.last == NONE -> my.last = n
        :: my.last != NONE && nodes[my.last].number < nodes[n].number -> my.last = n
        :: else
        fi;
      fi;
    :: else
    fi;
    n++;
  :: else -> break
  od;
  n = 0;
}

inline decide(s, t, set) {
  if
  :: !HAS(set, my.node) -> my.next = QUEUE
  :: else ->
    admit(t, set);
    if
    :: nearest != NONE && HAS(clients[s].removing, nearest) -> admit(t, set & ~clients[s].removing)
    :: else
    fi;
    if
    :: nearest == NONE -> my.next = ADMIT
    :: else ->
      follow(s, t, nearest);
      if
      :: !yes -> watch(s, t, nearest)
      :: else
      fi;
      yes = false;
      my.behind = 0;
      my.last = NONE;
    fi;
    nearest = NONE;
  fi;
}

/* Names ahead only ever disappear; only a writer may come back, as a reader. */
inline on_blocker_gone(t) {
  if
  :: my.ahead == 1 && !(my.kind != READ && nodes[my.blocker].kind == WRITE) && MAY_TRUST(t) ->
    my.last = NONE;
    my.behind = 0;
    my.next = ADMIT;
  :: else -> my.next = LOOK
  fi;
}

inline let_in(s, t) {
  my.first = true;
  my.ahead = 0;
#if REQUEUES == 0
  my.last = NONE;
  my.behind = 0;
#endif
  new_step(t);
  if
  :: clients[s].lease -> grant(s, t)
  :: !clients[s].lease && clients[s].connected ->
    my.state = PROVING;
    send(s, CHECK, t, my.node);
  :: else -> my.state = DISCONNECTED
  fi;
}

inline grant(s, t) {
  my.state = GRANTED;
  printf("ticket %d is GRANTED with node %d\n", t, my.node);
  check_grant(s, t);
}

/* The properties P1 and P3. */
inline check_grant(s, t) {
  assert(ALIVE(my.node) || nodes[my.node].forced);
  if
  :: !ALIVE(my.node) ->
    my.unaware = my.unaware || OWN_DEATH_UNHEARD(t);
#if CUTS == 0 || SHARED == 1
    /* Who watches its node is not let in by what was heard after its end. (Right after a reconnect the one ahead may
       leave before the events come.) */
    assert(my.own_watch != 2 || nodes[my.node].died > servers[s].seen);
    /* Nor is one in a line that watches its parent. */
    assert(!my.in_line || !PARENT_EVENT_PENDING(s) || parents[servers[s].parent_watch].died > servers[s].seen);
#endif
  :: else
  fi;
  if
  :: ALIVE(my.node) || my.unaware ->
    u = 0;
    do
    :: u < TICKETS ->
      if
      :: u != t && BELIEVES(u) && (ALIVE(tickets[u].node) || tickets[u].unaware) ->
        assert(!EXCLUSIVE(t) && !EXCLUSIVE(u));
      :: else
      fi;
      u++;
    :: else -> break
    od;
    u = 0;
  :: else
  fi;
  if
  :: ALIVE(my.node) ->
    assert(TOKEN(t) > last_exclusive);
    if
    :: EXCLUSIVE(t) ->
      assert(TOKEN(t) > last_token);
      last_exclusive = TOKEN(t);
    :: else
    fi;
    last_token = (TOKEN(t) > last_token -> TOKEN(t) : last_token);
  :: else
  fi;
}

inline settle(s) {
  do
  :: pending_next(s) ->
    t = 0;
    do
    :: tickets[t].next == NOTHING -> t++
    :: else -> break
    od;
    what = my.next;
    my.next = NOTHING;
    if
    :: what == QUEUE ->
      my.first = false;
      step_out(t);
      begin(s, t);
    :: what == LOOK -> look(s, t)
    :: what == ADMIT -> let_in(s, t)
    fi;
    what = 0;
    t = 0;
  :: else -> break
  od;
}

