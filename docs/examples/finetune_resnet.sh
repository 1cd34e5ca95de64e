#!/usr/bin/env bash
# Fine-tunes a ResNet-20 on classes that it was not trained on: docs/examples/finetune_resnet.sh --help
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: docs/examples/finetune_resnet.sh [--quick] [FOLDER]

1. trains a ResNet-20 on the first five classes of Fashion-MNIST (Debian's package dataset-fashion-mnist),
2. exports it as safetensors with torchvision's names,
3. fine-tunes it on 1000 images of the five other classes (configs/finetune_resnet.yaml): stem frozen, new head, factors
   for the learning rate of the lower stages,
4. trains the same from scratch, and prints the accuracies of both on test images.

Everything goes into FOLDER (default runs/finetune_resnet), which must not be there yet. Needs python3 (its standard
library alone) to sort the images by class. About a minute on two cores.
  --quick    a ResNet-8 and fewer images: seconds, and accuracies that say little
Environment: TRAINER, the program (default: trainer); FASHION_MNIST, the folder of the dataset.
TEXT
}

depth=20 first=20000 new=1000 test=2500 folder=runs/finetune_resnet
while [ $# -gt 0 ]; do
  case $1 in
    --quick) depth=8 first=2000 new=200 test=500 ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done
trainer=${TRAINER:-trainer}
dataset=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Of the source tree, and of an installed one (share/spire/examples, share/doc/spire/examples).
for configs in "$here/../../configs" "$here/../configs" "$here/../../../spire/configs"; do
  config=$configs/finetune_resnet.yaml
  [ ! -e "$config" ] || break
done
if [ -e "$folder" ]; then
  echo "finetune_resnet: $folder is there already; remove it, or name another folder" >&2
  exit 2
fi
mkdir -p "$folder"

# Writes IDX files of COUNT images of the classes FROM to FROM + 4, which get the labels 0 to 4.
select_classes() { # TARGET FROM TRAINING_IMAGES
  python3 - "$dataset" "$1" "$2" "$3" "$test" <<'PYTHON'
import gzip, os, struct, sys

source, target, (begin, *counts) = sys.argv[1], sys.argv[2], map(int, sys.argv[3:])
os.makedirs(target)
for part, count in zip(("train", "t10k"), counts):
    with gzip.open(f"{source}/{part}-labels-idx1-ubyte.gz") as file:
        labels = file.read()[8:]
    with gzip.open(f"{source}/{part}-images-idx3-ubyte.gz") as file:
        pixels = file.read()[16:]
    chosen = [i for i, label in enumerate(labels) if begin <= label < begin + 5][:count]
    with open(f"{target}/{part}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">II", 0x801, len(chosen)) + bytes(labels[i] - begin for i in chosen))
    with open(f"{target}/{part}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">IIII", 0x803, len(chosen), 28, 28))
        for i in chosen:
            file.write(pixels[784 * i : 784 * (i + 1)])
PYTHON
}
select_classes "$folder/first_classes" 0 "$first"
select_classes "$folder/new_classes" 5 "$new"

train() { # OUTPUT KEY=VALUE ...: the config of fine-tuning, with changes
  "$trainer" --config "$config" --quiet --output "$folder/$1" "model.depth=$depth" \
    "data.path=$folder/new_classes" "${@:2}" > "$folder/$1.log"
}
accuracy() { # RUN
  "$trainer" eval --checkpoint "$folder/$1/latest" --quiet | awk '/accuracy/ { printf "%.1f %%", 100 * $2 }'
}
anew=(init.from=none 'init.skip=[]' 'freeze=[]' 'optimizer.lr_factors={}')

echo "training on the first five classes"
train first "${anew[@]}" "data.path=$folder/first_classes" epochs=1
"$trainer" export --checkpoint "$folder/first/latest" --to "$folder/model.safetensors" --names torchvision --quiet \
  > "$folder/export.log"
echo "fine-tuning on $new images of the other five"
train fine_tuned "init.from=$folder/model.safetensors"
echo "the same from scratch"
train scratch "${anew[@]}"

echo "accuracy on the five new classes, fine-tuned:   $(accuracy fine_tuned)"
echo "accuracy on the five new classes, from scratch: $(accuracy scratch)"
