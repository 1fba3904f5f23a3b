"""What the schema says about the API as a whole, and the order of its parts."""

ABOUT = """\
Everything that Lockstep knows and does, for programs. The pages show the same.

**Who asks.** Send `Authorization: Token <key>`. A key is made on the page *Account*, or by `POST
/api/v1/tokens/` with name and password; it has the rights of its user. What a user may is decided by role
and tenant: jobs of other tenants are shown as numbers, and what names them (`name`, `owner`, `dataset`,
`code_version`, `workload`) is `null`. `401`: not signed in. `403`: not allowed. `404`: not there.

**Lists** come in pages (`page`, `page_size`), sorted by `ordering` and always in one order. A filter that
is misspelt or not understood is an error, never passed over. Windows of time are half-open: from the first
moment up to, not including, the last.

**CSV.** Every list is there as CSV: `/api/v1/jobs.csv` or `?format=csv`, with the same filters, all rows,
UTC.

**Units** stand in the names: `_s` seconds, `_w` watts, `_gb` gigabytes, `_usd` US dollars, `gpu_hours`.
`null` means unknown, or for a limit, unlimited; it never means 0. Times are ISO 8601 in UTC, on the
engine's clock unless they are called `wall_at`.

**Refusals** have one form (`Problem`): a sentence in `detail`, and in `errors` each field with the value
that was given and what to give instead. `409`: the thing has changed, or is not in the state for this.

**Following.** `GET /api/v1/events/?after=<next_after>` tells what happened since; nothing appears late
below it.
"""

TAGS = {
    "jobs": "Submit, read, cancel, hold and release; why one waits.",
    "runs": "The attempts of jobs.",
    "decisions": "What was decided and why; permanent addresses.",
    "reservations": "Nodes being gathered for a gang.",
    "preemptions": "Receipts: who gave way to whom, and what was lost.",
    "allocations": "Which run holds which GPU.",
    "capacity": "Where every GPU is, and was; what would fit.",
    "usage": "GPU-hours and cost, exact.",
    "tenants": "The tree: entitled, used, lent, waiting.",
    "entitlements": "Guarantees and limits.",
    "loans": "Who borrows from whose idle entitlement.",
    "policy": "The scheduling policy and its versions.",
    "nodes": "Hosts; drain and resume; evidence.",
    "gpu-models": "Kinds of accelerators.",
    "racks": "Where nodes stand.",
    "blocks": "Nodes under one leaf switch.",
    "pods": "Blocks under one spine group.",
    "ticks": "Passes of the control loop.",
    "events": "What happened, in order.",
    "tokens": "Your keys to this API.",
}
