#!/usr/bin/env bash
# Training from an HDF5 file that is larger than the memory a run may use, against made-up samples that need no file.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/measure/hdf5_under_limit.sh [--trainer PATH] [--folder PATH] [--limit MIB] [--pairs N] [--steps N]

Makes an HDF5 file of 96x96 grey images twice as large as the limit (once; it stays in the folder), then trains the CNN from it and
from synthetic samples by turns, each in a memory cgroup of MIB MiB, the page cache included. Prints both speeds and their ratio for
each pair, and the median ratio. Needs root, for the cgroup.
  --trainer PATH   default build/release/tools/trainer
  --folder PATH    where file and runs go; default .cache/hdf5
  --limit MIB      default 1024
  --pairs N        default 3
  --steps N        of a run; default 1000
TEXT
}

trainer=build/release/tools/trainer folder=.cache/hdf5 limit=1024 pairs=3 steps=1000
while [ $# -gt 0 ]; do
  case $1 in
    --trainer | --folder | --limit | --pairs | --steps)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2
      ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

row=$((96 * 96))
samples=$((2 * limit * 1048576 / row))
file=$folder/images_$limit.h5
mkdir -p "$folder"

# Images of random bytes as IDX files, the simplest format there is.
if [ ! -e "$file" ]; then
  raw=$folder/raw
  mkdir -p "$raw"
  python3 - "$raw" "$samples" <<'PY'
import os, struct, sys
for half, count in (('train', int(sys.argv[2])), ('t10k', 100)):
    with open(f'{sys.argv[1]}/{half}-images-idx3-ubyte', 'wb') as images:
        images.write(struct.pack('>HBBIII', 0, 8, 3, count, 96, 96))
        for _ in range(count):
            images.write(os.urandom(96 * 96))
    with open(f'{sys.argv[1]}/{half}-labels-idx1-ubyte', 'wb') as labels:
        labels.write(struct.pack('>HBBI', 0, 8, 1, count))
        labels.write(bytes(i % 10 for i in range(count)))
PY
  "$trainer" dataset convert data.name=idx "data.path=$raw" --to "$file" --order shuffled
  rm -r "$raw"
fi
made_up="data={name: synthetic, synthetic: {shape: [96, 96, 1], classes: 10, samples: $samples, test_samples: 100}}"

if [ -d /sys/fs/cgroup/memory ]; then
  group=/sys/fs/cgroup/memory/spire_bench_$$ key=memory.limit_in_bytes
else
  group=/sys/fs/cgroup/spire_bench_$$ key=memory.max
fi
mkdir "$group"
trap 'rmdir "$group"' EXIT
echo "${limit}M" >"$group/$key"

speed_of() {  # kind data
  (
    echo "$BASHPID" >"$group/cgroup.procs"
    exec "$trainer" 'model={name: cnn}' batch_size=16 towers=2 precision=bf16 optimizer.lr=0.001 "steps=$steps" \
      'eval={every_epochs: 1000}' 'checkpoint={every_epochs: 0}' "output=$folder/run" --overwrite --quiet "$2"
  ) >"$folder/$1.log" 2>&1 || { cat "$folder/$1.log" >&2; exit 1; }
  sed -n 's/^speed *\([0-9 ]*\) samples.*/\1/p' "$folder/$1.log" | tr -d ' '
}

ratios=()
for pair in $(seq "$pairs"); do
  synthetic=$(speed_of synthetic "$made_up")
  stored=$(speed_of hdf5 "data={name: hdf5, path: $file}")
  ratio=$(awk "BEGIN { printf \"%.3f\", $stored / $synthetic }")
  ratios+=("$ratio")
  echo "pair $pair: synthetic $synthetic samples/s, HDF5 $stored samples/s, ratio $ratio"
done
printf '%s\n' "${ratios[@]}" | sort -n | awk '{ r[NR] = $1 } END { print "median ratio", r[int((NR + 1) / 2)] }'
