/* SPDX-License-Identifier: Apache-2.0 */
/* The ensemble: one path, its children in the order of their creation (so that the index of a node orders as its czxid
   does), and for each session what it has heard of them. A read is answered from a server that may lag: so when it is
   heard, it may show any moment between what the session has heard and now. That is all there is to the delay of reads,
   answers and events; only of writes it matters when they are executed. */

byte zxid = 1;            /* of the last creation or deletion; see `tidy` */
byte created;             /* nodes so far */
byte counter;             /* of the parent */
byte parent;              /* which of `parents` is there, or was there last */

typedef pnode {
  byte born;              /* the transaction */
  byte died;              /* the transaction; 0: alive */
};
pnode parents[PARENTS + 1];

typedef znode {
  byte born;              /* the transaction */
  byte died;              /* the transaction; 0: alive */
  byte number;
  byte kind;
  byte owner;             /* its session */
  bool forced;            /* deleted by an operator */
  byte under;             /* which of `parents` */
};
znode nodes[NODES];

typedef server {
  byte seen = 1;          /* the last zxid of which the session has heard */
  byte watches;           /* nodes on which it has a watch */
  byte parent_watch = NONE;  /* which of `parents` */
  bool parent_changed;    /* it was another one after the connection had been lost */
  byte in_doubt = NONE;   /* a ticket whose create was sent before the connection was lost and may still be executed */
  bool expired;
};
server servers[SESSIONS];

chan requests[SESSIONS] = [8] of { byte, byte, byte, byte };  /* those not answered: what, ticket, whether it is stale, node */
chan writes[SESSIONS] = [8] of { byte, byte, byte };          /* those not executed: what, ticket, node */
chan results[SESSIONS] = [8] of { byte, byte, byte };         /* of those executed: node or NONE, zxid, zxid before */

byte deletions = DELETIONS;
byte parents_lost = PARENTS;
byte strangers = STRANGERS;
byte cancels = CANCELS;
byte requeues = REQUEUES;
byte downgrades = DOWNGRADES;
byte cuts = CUTS;
byte expiries = EXPIRIES;

byte living;              /* the set of those alive */

#define ALIVE(n) HAS(living, n)
#define SEEN_ALIVE(s, n) (nodes[n].born <= servers[s].seen && (ALIVE(n) || nodes[n].died > servers[s].seen))
#define PARENT_ALIVE (parents[parent].died == 0)
#define SEEN_PARENT(s, p) (parents[p].born <= servers[s].seen && \
                           (parents[p].died == 0 || parents[p].died > servers[s].seen))
#define PARENT_EVENT_PENDING(s) (servers[s].parent_watch != NONE && parents[servers[s].parent_watch].died != 0)
#define EVENT_PENDING(s) ((servers[s].watches & ~living) != 0 || PARENT_EVENT_PENDING(s))

/* Within a transaction whose zxid has been taken. */
inline add_node(s, of_kind, with_number) {
  assert(created < NODES);
  nodes[created].born = zxid;
  nodes[created].number = with_number;
  nodes[created].kind = of_kind;
  nodes[created].owner = s;
  nodes[created].under = parent;
  living = living | BIT(created);
  created++;
}

inline set_of_children(s, set) {
  set = 0;
  n = 0;
  do
  :: n < created ->
    if
    :: SEEN_ALIVE(s, n) -> set = set | BIT(n)
    :: else
    fi;
    n++;
  :: else -> break
  od;
  n = 0;
}

/* Leaves the new node in `made`; NONE: the parent is missing. */
inline execute_create(s, t) {
  if
  :: PARENT_ALIVE ->
    zxid++;
    made = created;
    add_node(s, tickets[t].kind, counter);
    counter++;
  :: else -> made = NONE
  fi;
}

/* A transaction only if it is missing. Its numbers begin again. */
inline execute_make_parent() {
  if
  :: PARENT_ALIVE
  :: else ->
    zxid++;
    parent++;
    parents[parent].born = zxid;
  fi;
}

/* Everything of the operator is ordinary client work; a container may also lose its parent when it is empty. */
inline delete_node(which, by_force) {
  zxid++;
  nodes[which].died = zxid;
  living = living & ~BIT(which);
  nodes[which].forced = by_force;
}

proctype operator() {
  byte n;
end:
  do
  :: atomic { deletions > 0 && living != 0 ->
      n = 0;
      do
      :: HAS(living, n) -> break
      :: (living >> (n + 1)) != 0 -> n++
      od;
      deletions--;
      printf("the operator deletes node %d\n", n);
      delete_node(n, true);
      n = 0;
    }
  :: atomic { parents_lost > 0 && PARENT_ALIVE && created > 0 && living == 0 ->
      parents_lost--;
      zxid++;
      parents[parent].died = zxid;
      counter = 0;
      printf("the parent is deleted, zxid %d\n", zxid);
    }
  :: atomic { strangers > 0 && !PARENT_ALIVE ->
      strangers--;
      execute_make_parent();
      printf("a stranger makes the parent\n");
    }
  :: atomic { strangers > 0 && PARENT_ALIVE && parent > 0 ->
      strangers--;
      counter++;
      printf("a stranger comes and goes\n");
    }
  od
}
