# SPDX-License-Identifier: Apache-2.0
# In gdb: prints where the members of each type are that LATCHKEY_TYPES names, as a program lays them out that includes the
# headers.
import os

import gdb


def members(of):
    try:
        return of.fields()
    except TypeError:  # as of an alias of a plain type
        return []


for name in sorted(os.environ["LATCHKEY_TYPES"].split()):
    try:
        kind = gdb.lookup_type(name).strip_typedefs()
    except gdb.error:  # a template, or one of latchkey::detail
        continue
    print(f"{name}: {kind.sizeof} bytes")
    for each in members(kind):
        if kind.code == gdb.TYPE_CODE_ENUM:
            print(f"  {each.name.split('::')[-1]} = {each.enumval}")
        elif each.is_base_class:
            print(f"  {each.bitpos // 8}: {each.type.sizeof} of a base")
        elif hasattr(each, "bitpos"):  # no static member
            print(f"  {each.bitpos // 8}: {each.type.sizeof} {each.name}")
