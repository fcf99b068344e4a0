#!/bin/bash
# Installs the driver of the machine's GPUs: at each boot, since Container-Optimized OS forgets its kernel modules with the boot.
#
# The version is the one that the image has tested with this kind of GPU, and its module is signed: so Secure Boot stays on. What it
# installs is under /var/lib/nvidia, where nothing may be run until it is mounted so.
# Source: https://docs.cloud.google.com/container-optimized-os/docs/how-to/run-gpus, read 2026-11.
set -euo pipefail

FOLDER=/var/lib/nvidia
TIMES=6
PAUSE=10        # seconds between tries: a machine that has just booted may not reach the driver's bucket yet

until cos-extensions install gpu; do
  ((--TIMES > 0)) || exit 1
  sleep "$PAUSE"
done
mount --bind "$FOLDER" "$FOLDER"
mount -o remount,exec "$FOLDER"
"$FOLDER/bin/nvidia-smi" -L
