/* SPDX-License-Identifier: Apache-2.0 */
/* The lease, timed: see README.md. run.sh chooses a configuration with -D. The unit of time is T/24. */

#define T 24
#ifndef HALF_TICK
#define HALF_TICK 6       /* between two pings of the leader, at most */
#endif
#ifndef DELAY
#define DELAY 7           /* from the answer to C until R is sent, at least */
#endif
#ifndef LEASE
#define LEASE 22          /* from the sending of C: 11/12 T */
#endif
#ifndef LATE
#define LATE 0            /* a ping of the leader is late by so much, at most */
#endif
#define IDLE_PING 8       /* the C client pings when it has sent nothing for T/3 */

/* Packets. */
#define PING 1            /* leader -> follower; back: the touches */
#define ECHO 2            /* answered by the follower alone */
#define SYNC 3
#define WRITE 4
#define REVALIDATE 5
#define OPEN 6

chan to_follower = [4] of { byte };   /* from the client */
chan to_client = [4] of { byte };
chan to_leader = [8] of { byte };
chan from_leader = [8] of { byte };
byte last_to_leader, last_from_leader;  /* the packets at the ends */

/* The follower with which the client is connected. */
bool touched;             /* since the last ping */
bool cut;                 /* from its leader, for ever */

/* The leader. */
byte left = T;            /* until the session expires, if the leader hears nothing more */
bool exists, expired;
bool minority;            /* that leader has no quorum any more; another one has restarted all timers */
byte since_ping;

/* The client. `stage` is how far the chain has come. */
#define NO_CHAIN 0
#define C_SENT 1
#define C_ANSWERED 2
#define R_SENT 3
#define R_ANSWERED 4
#define W_SENT 5
#define KNOWN 6
#define OPENING 7
#define RECONNECTING 8
#define DISCONNECTED 9
byte stage = OPENING;
byte age;                 /* since C was sent */
byte waited;              /* since C was answered */
bool unanswered;          /* a request is under way: one at a time */
byte last_to_follower;
byte idle;                /* since the last packet of the client */

#define BELIEVES (stage == KNOWN && age <= LEASE)

inline check() { assert(!(BELIEVES && expired)) }

inline send(packet) {
  printf("client sends packet %d\n", packet);
  assert(nfull(to_follower));
  to_follower!packet;
  idle = 0;
  last_to_follower = packet;
  unanswered = (packet == PING -> unanswered : true);
}

inline ping_when_idle() {
  if
  :: len(to_follower) > 0 && last_to_follower == PING -> idle = 0
  :: else -> send(PING)
  fi;
}

inline begin_chain(packet) {
  age = 0;
  waited = 0;
  stage = C_SENT;
  send(packet);
}

#if defined(RULE_TWO)
#define FIRST WRITE
#define AFTER_FIRST KNOWN
#elif defined(RULE_ONE)
#define FIRST WRITE
#define AFTER_FIRST R_ANSWERED   /* no R */
#else
#define FIRST ECHO
#define AFTER_FIRST C_ANSWERED
#endif

/* Two pings in a row that both wait to be read do what the first of them does, and less: so does one, later. */
inline lead(packet) {
  if
  :: cut || (packet == PING && last_from_leader == PING && len(from_leader) > 0)
  :: else ->
    assert(nfull(from_leader));
    from_leader!packet;
    last_from_leader = packet;
  fi;
}

inline forward(packet) {
  if
  :: cut || (packet == PING && last_to_leader == PING && len(to_leader) > 0)
  :: else ->
    assert(nfull(to_leader));
    to_leader!packet;
    last_to_leader = packet;
  fi;
}

inline touch() {
  if
  :: expired || minority
  :: else -> left = T
  fi;
}

inline follower_reads() {
  to_follower?packet;
  printf("follower reads packet %d of the client\n", packet);
  touched = (packet == REVALIDATE || packet == OPEN -> touched : true);
  if
  :: packet == ECHO -> to_client!ECHO
  :: packet == PING                /* of the client */
  :: else -> forward(packet)
  fi;
  packet = 0;
}

inline follower_hears() {
  from_leader?packet;
  printf("follower hears packet %d of the leader\n", packet);
  if
  :: packet == PING && touched -> touched = false; forward(PING)
  :: packet == PING && !touched
  :: else -> to_client!packet
  fi;
  packet = 0;
}

inline leader_hears() {
  to_leader?packet;
  printf("leader hears packet %d\n", packet);
  if
  :: packet == PING -> touch()
  :: packet == SYNC -> lead(SYNC)
  :: packet == REVALIDATE && !expired -> touch(); lead(REVALIDATE)
  :: packet == WRITE && !expired && !minority -> lead(WRITE)
  :: packet == OPEN && !minority -> exists = true; left = T; lead(OPEN)
  :: else
  fi;
  packet = 0;
}

inline client_hears() {
  to_client?packet;
  printf("client hears the answer to packet %d\n", packet);
  unanswered = false;
  if
  :: stage == C_SENT && packet == FIRST -> stage = AFTER_FIRST; waited = 0
  :: stage == R_SENT && packet == SYNC -> stage = R_ANSWERED
  :: stage == W_SENT && packet == WRITE -> stage = KNOWN
  :: stage == OPENING && packet == OPEN -> stage = KNOWN
  :: stage == RECONNECTING && packet == REVALIDATE -> stage = R_ANSWERED; waited = DELAY
  :: else
  fi;
  packet = 0;
}

inline drop_all() {
  printf("the connection is lost\n");
  do
  :: len(to_follower) > 0 -> to_follower?_
  :: len(to_client) > 0 -> to_client?_
  :: len(to_leader) > 0 -> to_leader?_
  :: len(from_leader) > 0 -> from_leader?_
  :: else -> break
  od;
  last_to_leader = 0;
  last_from_leader = 0;
  unanswered = false;
}

inline tick() {
  printf("time passes; the leader expires the session in %d, C is %d old\n", left, age);
  left = (exists && !expired -> left - 1 : left);
  expired = expired || (exists && left == 0);
  since_ping++;
  age = (age > LEASE -> age : age + 1);
  waited = (waited < DELAY -> waited + 1 : waited);
#ifdef RULE_TWO
  idle = (idle < IDLE_PING -> idle + 1 : idle);
#endif
  if
  :: age > LEASE && stage != DISCONNECTED && stage != RECONNECTING && stage != OPENING -> stage = NO_CHAIN
  :: else
  fi;
  /* What makes no difference any more. */
  age = (stage == NO_CHAIN -> 0 : age);
  waited = (stage == C_ANSWERED || stage == R_ANSWERED -> waited : 0);
}

#ifdef RULE_TWO
#define MUST_PING (stage != OPENING && idle == IDLE_PING)
#else
#define MUST_PING false
#endif

active proctype world() {
  byte packet;
  d_step { send(OPEN) }
  do
  :: atomic { since_ping < HALF_TICK + LATE && !MUST_PING -> d_step { tick(); check() } }
  :: d_step { since_ping > 0 && (since_ping >= HALF_TICK || cut) ->
      since_ping = 0;
      printf("leader pings\n");
      lead(PING);
    }

  /* Each packet is held back for as long as it likes. */
  :: d_step { len(to_follower) > 0 -> follower_reads() }
  :: d_step { len(from_leader) > 0 -> follower_hears() }
  :: d_step { len(to_leader) > 0 -> leader_hears() }
  :: d_step { len(to_client) > 0 -> client_hears(); check() }

  /* Faults. */
  :: d_step { !cut ->
      cut = true;
      printf("the follower is cut off\n");
      do
      :: len(to_leader) > 0 -> to_leader?_
      :: len(from_leader) > 0 -> from_leader?_
      :: else -> break
      od;
      last_to_leader = 0;
      last_from_leader = 0;
    }
  :: d_step { exists && !expired && !minority ->
      minority = true;
      left = T;
      printf("the leader loses its quorum to another\n");
    }

  /* The client. */
  :: d_step { (stage == NO_CHAIN || stage == KNOWN) && !unanswered -> begin_chain(FIRST) }
  :: d_step { stage == C_ANSWERED && waited >= DELAY -> stage = R_SENT; send(SYNC) }
  :: d_step { stage == R_ANSWERED && (waited >= DELAY || AFTER_FIRST == C_ANSWERED) -> stage = W_SENT; send(WRITE) }
#ifdef RULE_TWO
  :: d_step { MUST_PING -> ping_when_idle() }
#endif
  /* The connection is lost just when a request has been answered. Another server, whose leader may be the old one. */
  :: d_step { stage != OPENING && stage != DISCONNECTED && exists -> drop_all(); stage = DISCONNECTED; age = 0; idle = 0 }
  :: d_step { stage == DISCONNECTED -> touched = false; cut = false; stage = RECONNECTING; send(REVALIDATE) }
  :: d_step { stage == DISCONNECTED && minority -> touched = false; cut = false; minority = false; stage = RECONNECTING; send(REVALIDATE) }
  od
}
