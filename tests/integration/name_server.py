#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A name server for one test: answers A queries from a file of lines "name address ...", which it reads each time."""
import socket
import struct
import sys


def addresses_of(zone, name):
    with open(zone) as lines:
        for line in lines:
            words = line.split()
            if words and words[0] == name:
                return words[1:]
    return None


def answer(zone, query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii", "replace"))
        at += 1 + query[at]
    question = query[12 : at + 5]
    kind = struct.unpack("!H", query[at + 1 : at + 3])[0]
    found = addresses_of(zone, ".".join(labels).lower())
    records = (found or []) if kind == 1 else []
    flags = 0x8580 if found is not None else 0x8583  # NXDOMAIN
    reply = query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0) + question
    for each in records:
        reply += struct.pack("!HHHIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(each)
    return reply


def main():
    zone, host = sys.argv[1:]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((host, 53))
        print("ready", flush=True)
        while True:
            query, client = server.recvfrom(512)
            server.sendto(answer(zone, query), client)


main()
