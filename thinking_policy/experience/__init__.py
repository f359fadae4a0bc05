# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the robot lived through: recorded, kept through power cuts, sent where it is learned from.

In the order in which an experience passes through:

- A moment becomes one where the rules say so (`recorder`); what is observed of it comes by
  messages (`observing`). It is a record (`record`, `stored_situation`, `parts`), one line of JSON.
- The buffer takes it (`buffer`): it waits (`waiting`) with a receipt for who gave it (`receipt`),
  until it is an entry (`entry`) of the file (`store`; `schema` makes and opens the file,
  `transaction`), where room is made for it (`upkeep`). What a file can suffer: `sqlite_faults`.
- The uplink sends it (`uplink`, in turns: `rounds`) over a link with the robot's token
  (`server_link`), as much at once as goes (`batch_size`), heeds what the server says (`verdicts`)
  and waits where that is trouble (`backoff`).
- The downlink brings policies back (`downlink`): an offer of the server (`policy_offer`) into a
  folder of this robot (`policy_folder`).
- Whoever does not own the file reads it by `opening`: `search`, `accounts`, `clearing`,
  `line_files`, `parquet`. Where a robot's file is: `default_database`.

How each is configured stands in `…_options` and `pauses`, which need no package beyond Python's
and pydantic. The server keeps what it receives with the same `store`.
"""
