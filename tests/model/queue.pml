/* SPDX-License-Identifier: Apache-2.0 */
/* The queue protocol: see README.md. run.sh chooses a configuration with -D. */

#ifndef TICKETS
#define TICKETS 3     /* contenders */
#endif
#ifndef SHARED
#define SHARED 1      /* so many of them, the first, are in session 0; each of the others has a session of its own */
#endif
#define SESSIONS (TICKETS - SHARED + 1)
#define SESSION(t) ((t) < SHARED -> 0 : (t) - SHARED + 1)
#ifndef NODES
#define NODES 5       /* creates, at most; 8 at most */
#endif

/* What may happen, and how often. */
#ifndef DELETIONS
#define DELETIONS 0   /* an operator deletes a node */
#endif
#ifndef PARENTS
#define PARENTS 0     /* the empty parent is deleted */
#endif
#ifndef STRANGERS
#define STRANGERS 0   /* a stranger makes the parent, or uses up a number of the new one */
#endif
#ifndef CANCELS
#define CANCELS 0     /* a caller gives up */
#endif
#ifndef REQUEUES
#define REQUEUES 0    /* a holder leaves and queues again in one transaction */
#endif
#ifndef DOWNGRADES
#define DOWNGRADES 0  /* a writer becomes a reader */
#endif
#ifndef CUTS
#define CUTS 0        /* a connection is lost */
#endif
#ifndef EXPIRIES
#define EXPIRIES 0    /* a session expires */
#endif
#ifndef READERS
#define READERS 0     /* a set of contenders */
#endif
#ifndef WRITERS
#define WRITERS 0     /* another; the others are those of a mutex */
#endif
#define KIND(t) (HAS(READERS, t) -> READ : (HAS(WRITERS, t) -> WRITE : LOCK))

/* -DDIRECT: releases are told by datagram, too. Who else tells, against the rules: -DWAITERS_TELL, one that gives up;
   -DREADERS_TELL, a reader; -DDOWNGRADE_TELLS, a writer that becomes a reader. */
#if defined(READERS_TELL) || defined(DOWNGRADE_TELLS)
#define MAY_TELL(t) (tickets[t].follower == NONE)
#else
#define MAY_TELL(t) (tickets[t].follower == NONE && tickets[t].kind == LOCK)
#endif

/* The rules of issue 12; -DOLD is the version before. Each can be left out alone. */
#ifdef OLD
#define NO_OWN_WATCH
#define NO_NEW_LIST
#define NO_PARENT_WATCH
#endif

#define NONE 255
#define PARENT 254
#define LOCK 0
#define READ 1
#define WRITE 2
#define BLOCKS(theirs, mine) (!((theirs) == READ && (mine) == READ))
#define BIT(n) (1 << (n))
#define HAS(set, n) (((set) >> (n)) & 1)

/* States of a ticket, as in src/queue/ticket.hpp. */
#define IDLE 0
#define DISCONNECTED 1
#define ENQUEUING 2
#define RECOVERING 3
#define LOOKING 4
#define WATCHING 5
#define FOLLOWING 6
#define PROVING 7
#define GRANTED 8
#define REPLACING 9
#define OVER 10

/* Requests. */
#define LIST 1
#define GET_BLOCKER 2
#define GET_OWN 3
#define GET_PARENT 4
#define IS_READ(what) ((what) <= GET_PARENT)
#define CREATE 5
#define MAKE_PARENT 6
#define CHECK 7
#define REMOVE 8
#define REQUEUE 9
#define REPLACE 10
#define SYNC 11

/* What a session does, and what a caller does. */
#define EXECUTE 7
#define HEAR 8
#define LAPSE 9
#define EXPIRE 10
#define BEGIN_SESSION 11
#define BEGIN 1
#define UNLOCK 2
#define WATCH_OWN 3
#define CANCEL 4
#define LEAVE_AND_REQUEUE 5
#define DOWNGRADE 6
#define TOLD 12
#define TOLD_AND_SEE_OFF 13
#define TOLD_AND_ASK 14

#include "queue_ensemble.pml"
#include "queue_entry.pml"
#include "queue_session.pml"
