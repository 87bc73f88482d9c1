#!/usr/bin/env python3
"""A pipeline that counts words, keeps its state in a Tidemark sidecar, and counts nothing twice.

Python's standard library alone. Kill it at any moment, kill the sidecar too, start both again: it goes
on, and the counts are those of a run that nothing disturbed. How:

1. resume: the sidecar says where to start, and begins a new run. What an older process of this pipeline
   still sends is refused from then on ("fenced").
2. The state comes back: every change up to the checkpoint, in order, held against the trailer's count.
3. The checkpoint's metadata says how many lines of the source the state holds: go on after them.
4. Appends say at which offset they belong, so that one whose answer was lost is repeated and taken once.
5. A checkpoint makes state and source position safe together, under a key, so that it is made once.

    tidemark serve --store ./data &
    python3 pipeline.py --source words.txt

Progress goes to stderr; at the end each word with its count goes to stdout.
"""

import argparse
import base64
import http.client
import json
import os
import random
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

LINES_PER_APPEND = 100
LINES_PER_CHECKPOINT = 500
RETRY_FOR_S = 120
ATTEMPT_S_MAX = 60
WAIT_S_MAX = 10
# The same request may be taken a moment later.
TRANSIENT = {408, 429, 502, 503, 504}


class Refused(Exception):
    """The sidecar said no: its problem document says why, and what to do next."""

    def __init__(self, status, problem):
        super().__init__(f"{problem.get('code')}: {problem.get('detail')} ({status})")
        self.problem = problem


class Sidecar:
    """Sends requests until they are answered. Only what may be repeated goes this way."""

    def __init__(self, url, token):
        self.url = url.rstrip("/")
        self.token = token

    def ask(self, method, path, body=None, headers=None):
        """The bytes of the answer."""
        first_at = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            asked_s = 0.0
            try:
                return self._send(method, path, body, headers or {})
            except urllib.error.HTTPError as error:
                if error.code not in TRANSIENT:
                    raise Refused(error.code, problem_of(error)) from None
                asked_s = float(error.headers.get("Retry-After") or 0)
                reason = f"{error.code} {problem_of(error).get('code')}"
            except (OSError, http.client.HTTPException) as error:
                # Whether it was done is not known: the same request finds out.
                reason = repr(error)
            # The wait is drawn, so that many pipelines do not come back at once.
            wait_s = asked_s + random.uniform(0, min(WAIT_S_MAX, 0.1 * 2**attempt))
            if time.monotonic() + wait_s - first_at > RETRY_FOR_S:
                raise TimeoutError(f"No answer to {method} {path} in {RETRY_FOR_S} s: {reason}")
            print(f"again in {wait_s:.1f} s: {method} {path}: {reason}", file=sys.stderr)
            time.sleep(wait_s)

    def json(self, method, path, value=None, headers=None):
        """The JSON of the answer."""
        body = None if value is None else json.dumps(value).encode()
        kind = {} if value is None else {"Content-Type": "application/json"}
        return json.loads(self.ask(method, path, body, {**kind, **(headers or {})}))

    def _send(self, method, path, body, headers):
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=headers)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=ATTEMPT_S_MAX) as answer:
            return answer.read()


def problem_of(error):
    try:
        return json.loads(error.read())
    except (ValueError, OSError, http.client.HTTPException):
        return {"code": "unknown", "detail": str(error)}


class WordCount:
    """The pipeline. Its state is how often each word occurred; a change is a word with its new count."""

    def __init__(self, sidecar, job):
        self.sidecar = sidecar
        self.job = f"/v1/jobs/{urllib.parse.quote(job, safe='')}"
        self.changes = f"{self.job}/writers/counts/changes"
        self.counts = {}
        self.line = self.offset = self.run = 0

    def start(self):
        """Gets everything back as it was at the newest checkpoint."""
        self.sidecar.json("PUT", self.job, {})
        resumed = self.sidecar.json("POST", f"{self.job}/resume", {"at": "latest"})
        self.run = resumed["run"]
        checkpoint = resumed["checkpoint"]
        if checkpoint is not None:
            self.line = checkpoint["metadata"]["line"]
            self._restore(checkpoint["uuid"])
        for writer in resumed["writers"]:
            if writer["writer"] == "counts":
                self.offset = writer["nextOffset"]
        print(f"run {self.run} starts at line {self.line}, offset {self.offset}", file=sys.stderr)

    def work(self, source):
        """Counts the rest of the source."""
        pending = []
        number = 0
        for number, text in enumerate(source, start=1):
            if number <= self.line:
                continue
            pending.extend(self._count(text))
            if number % LINES_PER_APPEND == 0:
                self._append(pending)
                pending = []
            if number % LINES_PER_CHECKPOINT == 0:
                self._checkpoint(number)
        if number > self.line:
            self._append(pending)
            self._checkpoint(number)

    def _count(self, text):
        changed = {}
        for word in text.split():
            self.counts[word] = changed[word] = self.counts.get(word, 0) + 1
        return [{"keyGroup": 0, "data": f"{word}\t{count}"} for word, count in changed.items()]

    def _append(self, changes):
        if not changes:
            return
        body = "".join(json.dumps(change) + "\n" for change in changes).encode()
        # Answered once it is on disk. Repeated at the same offset, the same changes are taken once.
        answer = self.sidecar.ask("POST", self.changes, body, {
            "Content-Type": "application/x-ndjson",
            "Tidemark-Offset": str(self.offset),
            "Tidemark-Run": str(self.run),
        })
        self.offset = json.loads(answer)["nextOffset"]

    def _checkpoint(self, line):
        # The key is new for each checkpoint, and the same for each time that it is asked for.
        self.sidecar.json("POST", f"{self.job}/checkpoints", {"metadata": {"line": line}}, {
            "Idempotency-Key": f"run {self.run} line {line}",
            "Tidemark-Run": str(self.run),
        })
        self.line = line
        print(f"checkpoint at line {line}", file=sys.stderr, flush=True)

    def _restore(self, uuid):
        answer = self.sidecar.ask("GET", f"{self.changes}?at={uuid}")
        *changes, last = [json.loads(item) for item in answer.splitlines()]
        # An answer without its end was cut short.
        if last.get("end", {}).get("count") != len(changes):
            raise RuntimeError(f"The restore is not whole: {len(changes)} changes, then {last}")
        for change in changes:
            data = change["data"] if "data" in change else base64.b64decode(change["base64"]).decode()
            word, count = data.split("\t")
            self.counts[word] = int(count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:7460", help="address of the sidecar")
    parser.add_argument("--job", default="word-count", help="name of the job")
    parser.add_argument("--source", required=True, help="text file whose words are counted")
    options = parser.parse_args()
    pipeline = WordCount(Sidecar(options.url, os.environ.get("TIDEMARK_TOKEN")), options.job)
    try:
        pipeline.start()
        with open(options.source, encoding="utf-8") as source:
            pipeline.work(source)
    except Refused as refused:
        # "fenced": a newer process of this pipeline has taken over, and this one has to stop.
        sys.exit(f"{refused}\n{refused.problem.get('nextStep', '')}")
    except TimeoutError as error:
        sys.exit(f"{error}\nStart this again when the sidecar is back: it goes on at its checkpoint")
    for word, count in sorted(pipeline.counts.items()):
        print(f"{word}\t{count}")


if __name__ == "__main__":
    main()
