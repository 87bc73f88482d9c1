#!/bin/sh
# A pipeline that keeps the lines of a file in a Tidemark sidecar, each once, with curl and jq alone.
#
# Kill it at any moment, kill the sidecar too, start both again: it goes on where the newest checkpoint
# says. How that works is told step by step in ../README.md; it is the same in every language.
#
#     tidemark serve --store ./data &
#     ./pipeline.sh lines.txt
#
# Progress goes to stderr; at the end what the sidecar has goes to stdout. Settings, from the environment:
# TIDEMARK_URL (http://127.0.0.1:7460), TIDEMARK_TOKEN (none), JOB (lines), LINES_PER_CHECKPOINT (100).
set -eu

source=${1:?usage: pipeline.sh FILE}
job=${TIDEMARK_URL:-http://127.0.0.1:7460}/v1/jobs/${JOB:-lines}
changes=$job/writers/lines/changes
batch=${LINES_PER_CHECKPOINT:-100}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# In a file, so that the token is in no list of processes.
(umask 077 && : > "$scratch/curlrc")
if [ -n "${TIDEMARK_TOKEN:-}" ]; then
  echo "header = \"authorization: Bearer $TIDEMARK_TOKEN\"" > "$scratch/curlrc"
fi

# ask METHOD URL [more of curl's]: leaves the answer in $scratch/answer, ends the script when it says no.
# curl repeats what was not answered, and 408, 429, 502, 503 and 504, as the sidecar asks: each request here
# may be repeated.
ask() {
  method=$1 url=$2
  shift 2
  status=$(curl -sS -K "$scratch/curlrc" -X "$method" "$url" "$@" \
    -o "$scratch/answer" -w '%{http_code}' \
    --retry 60 --retry-all-errors --retry-max-time 120 --max-time 60)
  case $status in
    2??) ;;
    *)
      jq -r '"\(.code): \(.detail)\n\(.nextStep)"' "$scratch/answer" >&2
      exit 1
      ;;
  esac
}

json='content-type: application/json'

# 1. The job is there.
ask PUT "$job"

# 2. Where do I start? A new run begins; what an older process still sends is "fenced" from then on.
ask POST "$job/resume" -H "$json" -d '{"at":"latest"}'
run=$(jq .run "$scratch/answer")
line=$(jq '.checkpoint.metadata.line // 0' "$scratch/answer")
offset=$(jq '[.writers[] | select(.writer == "lines") | .nextOffset][0] // 0' "$scratch/answer")
echo "run $run starts at line $line, offset $offset" >&2

total=$(wc -l < "$source")
while [ "$line" -lt "$total" ]; do
  # 3. The next lines as changes, at their offset: repeated, they are taken once. Answered when on disk.
  sed -n "$((line + 1)),$((line + batch))p" "$source" |
    jq -cR '{ keyGroup: 0, data: . }' > "$scratch/batch"
  ask POST "$changes" -H 'content-type: application/x-ndjson' --data-binary "@$scratch/batch" \
    -H "tidemark-offset: $offset" -H "tidemark-run: $run"
  offset=$(jq .nextOffset "$scratch/answer")
  line=$((line + batch))
  [ "$line" -le "$total" ] || line=$total

  # 4. State and source position become safe together; under its key the checkpoint is made once.
  ask POST "$job/checkpoints" -H "$json" -d "{\"metadata\":{\"line\":$line}}" \
    -H "idempotency-key: run $run line $line" -H "tidemark-run: $run"
  echo "checkpoint at line $line" >&2
done

# 5. What is there? The last line says how many changes there are: without it the answer was cut short.
ask GET "$changes?at=latest"
count=$(($(wc -l < "$scratch/answer") - 1))
if [ "$(tail -n 1 "$scratch/answer" | jq .end.count)" != "$count" ]; then
  echo "the restore was cut short: run this again" >&2
  exit 1
fi
sed '$d' "$scratch/answer" | jq -r 'if has("data") then .data else .base64 | @base64d end'
