/* SPDX-License-Identifier: Apache-2.0 */
/* The ensemble: one path, its children in the order of their creation (so that the index of a node orders as its czxid
   does), and for each session what it has heard of them. A read is answered from a server that may lag: so when it is
   heard, it may show any moment between what the session has heard and now. That is all there is to the delay of reads,
   answers and events; only of writes it matters when they are executed. */

byte zxid;                /* creations and deletions so far */
byte created;             /* nodes so far */
byte counter;             /* of the parent */
bool parent = true;       /* is there */

typedef znode {
  byte born;              /* the transaction */
  byte died;              /* the transaction; 0: alive */
  byte number;
  byte kind;
  byte owner;             /* its session */
  bool forced;            /* deleted by an operator */
};
znode nodes[NODES];

typedef server {
  byte seen;              /* the last zxid of which the session has heard */
  byte watches;           /* nodes on which it has a watch */
  byte in_doubt = NONE;   /* a ticket whose create was sent before the connection was lost and may still be executed */
  bool expired;
};
server servers[SESSIONS];

chan requests[SESSIONS] = [8] of { byte, byte, byte, byte };  /* those not answered: what, ticket, whether it is stale, node */
chan writes[SESSIONS] = [8] of { byte, byte, byte };          /* those not executed: what, ticket, node */
chan results[SESSIONS] = [8] of { byte, byte, byte };         /* of those executed: node or NONE, zxid, zxid before */

byte deletions = DELETIONS;
byte parents_lost = PARENTS;
byte cancels = CANCELS;
byte requeues = REQUEUES;
byte downgrades = DOWNGRADES;
byte cuts = CUTS;
byte expiries = EXPIRIES;

#define faults_left() (deletions + parents_lost + cancels + requeues + downgrades + cuts + expiries > 0)

byte living;              /* the set of those alive */

#define ALIVE(n) HAS(living, n)
#define SEEN_ALIVE(s, n) (nodes[n].born <= servers[s].seen && (ALIVE(n) || nodes[n].died > servers[s].seen))
#define EVENT_PENDING(s) ((servers[s].watches & ~living) != 0)

/* Within a transaction whose zxid has been taken. */
inline add_node(s, of_kind, with_number) {
  assert(created < NODES);
  nodes[created].born = zxid;
  nodes[created].number = with_number;
  nodes[created].kind = of_kind;
  nodes[created].owner = s;
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
  :: parent ->
    zxid++;
    made = created;
    add_node(s, tickets[t].kind, counter);
    counter++;
  :: else -> made = NONE
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
  :: atomic { parents_lost > 0 && parent && created > 0 && living == 0 ->
      parents_lost--;
      printf("the parent is deleted\n");
      parent = false;
      counter = 0;
    }
  :: d_step { faults_left() ->
      deletions = 0; parents_lost = 0; cancels = 0; requeues = 0; downgrades = 0; cuts = 0; expiries = 0;
    }
  od
}
