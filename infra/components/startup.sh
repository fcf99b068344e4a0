#!/bin/bash
# What a host of a job does when it has booted: runs the job's container, and says in an object of the models bucket how it ended.
#
# It is told all it knows by its own metadata: `accelform-container`, of the template, is {"image", "command", "args", "env"}, and has "gpus"
# where the machine has some: `accelform-gpu-driver` is then the script that installs their driver, and the image is
# Container-Optimized OS, which has docker, python3 and no package manager (kubernetes/kubernetes:cluster/gce/gci/configure.sh runs so).
# `accelform-run`, of one try, is {"env", "state"}, where `state` is the folder for what the host says. It ends without switching the
# machine off: whoever made the machine takes it away once it has heard.
#
# SIGTERM and a stop of the machine reach the container as SIGTERM, NOTICE seconds before it is killed. A spot machine has 30 from the
# notice to the end: https://cloud.google.com/compute/docs/instances/spot, read 2026-11.
set -uo pipefail

METADATA=http://metadata.google.internal/computeMetadata/v1
STORAGE=https://storage.googleapis.com
NAME=accelform
NOTICE=25
PAUSE=5         # seconds between tries
PORT=8476       # of process 0, the one that JAX takes on Cloud TPU
FAILED=125      # as `docker run` has it: the container did not start
DEVICES=${DEVICES:-/dev}
export DOCKER_CONFIG=/run/accelform-docker

say() { echo "accelform: $*"; }

# again TIMES COMMAND...: until it succeeds.
again() {
  local left=$1
  shift
  for ((; left > 0; left--)); do
    "$@" && return 0
    sleep "$PAUSE"
  done
  return 1
}

metadata() { curl -sSf --max-time 20 -H 'Metadata-Flavor: Google' "$METADATA/$1"; }
attribute() { metadata "instance/attributes/$1" 2>/dev/null; }
token() { metadata instance/service-accounts/default/token | sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p' | grep .; }

# What is there now, though it may not be there at all: a machine alone is told nothing of its peers.
number() {
  local found
  found=$(attribute agent-worker-number) || found=$(attribute tpu-env | sed -n "s/^ *\(TPU_\)\{0,1\}WORKER_ID: *'\{0,1\}\([0-9]*\).*/\2/p" | head -n 1)
  [[ $found =~ ^[0-9]+$ ]] && echo "$found" || echo 0
}

# report CODE: host-K.json in the try's folder, a word of this host alone.
report() {
  local folder bucket object ended
  folder=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["state"])' "$RUN") || return 1
  bucket=${folder#gs://}
  object=${bucket#*/}/host-$HOST.json
  bucket=${bucket%%/*}
  ended=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  object=$(python3 -c 'import sys, urllib.parse; print(urllib.parse.quote(sys.argv[1], safe=""))' "$object")
  say "host $HOST ended with $1"
  again 60 upload "$STORAGE/upload/storage/v1/b/$bucket/o?uploadType=media&name=$object" "{\"host\": $HOST, \"exit_code\": $1, \"ended\": \"$ended\"}"
}

upload() {
  local bearer
  bearer=$(token) && curl -sSf --max-time 20 -X POST -H "Authorization: Bearer $bearer" -H 'Content-Type: application/json' --data "$2" "$1" >/dev/null
}

# Where the platform does not tell JAX by itself who its peers are, they are told by the contract's variables.
peers() {
  local endpoints first
  attribute agent-worker-number >/dev/null && return 0
  endpoints=$(attribute worker-network-endpoints) && [[ $endpoints == *,* ]] || return 0
  first=${endpoints%%,*}
  printf 'WL_COORDINATOR=%s:%s\0WL_PROCESS_ID=%s\0' "${first##*:}" "$PORT" "$HOST"
}

# Arguments of `docker run` after its options, each ended by a zero byte: variables, image, command, arguments.
arguments() {
  python3 - "$CONTAINER" "$RUN" <<'PYTHON'
import json, sys

container, run = map(json.loads, sys.argv[1:3])
words = []
for name, value in {**container.get("env", {}), **run.get("env", {})}.items():
    words += ["--env", f"{name}={value}"]
command = container.get("command", [])
words += ["--entrypoint", command[0]] if command else []
words += [container["image"], *command[1:], *container.get("args", [])]
sys.stdout.write("".join(f"{word}\0" for word in words))
PYTHON
}

start_docker() {
  if ! command -v docker >/dev/null; then
    say "installing docker"
    again 24 apt-get -qq update || return 1
    DEBIAN_FRONTEND=noninteractive again 24 apt-get -qq -o DPkg::Lock::Timeout=300 install --no-install-recommends docker.io || return 1
  fi
  again 24 docker info >/dev/null 2>&1
}

pull() {
  local registry=${IMAGE%%/*}
  if [[ $registry == *-docker.pkg.dev ]]; then
    token | docker login --username oauth2accesstoken --password-stdin "https://$registry" >/dev/null || return 1
  fi
  docker pull --quiet "$IMAGE"
}

# Chips are /dev/accelN on v2 to v4, and /dev/vfio/N later. The image's user is not root, and has the machine for itself.
devices() {
  local device
  for device in "$DEVICES"/accel* "$DEVICES"/vfio/*; do [[ ! -e $device ]] || chmod a+rw "$device"; done
}

# What shows the GPUs to the container: its devices are there with --privileged, the driver's files are the machine's. Container-Optimized
# OS has no runtime that would do it: https://docs.cloud.google.com/container-optimized-os/docs/how-to/run-gpus, read 2026-11.
show_gpus() {
  local script
  script=$(again 60 attribute accelform-gpu-driver) || return 1
  bash -c "$script" || return 1
  options+=(--volume /var/lib/nvidia/lib64:/usr/local/nvidia/lib64:ro --volume /var/lib/nvidia/bin:/usr/local/nvidia/bin:ro)
  options+=(--env LD_LIBRARY_PATH=/usr/local/nvidia/lib64)
}

# Whether the machine is being stopped or taken away. Docker may have been told before this script was.
going() {
  [[ -n $STOPPING || $(systemctl is-system-running 2>/dev/null) == stopping || $(metadata instance/preempted 2>/dev/null) == TRUE ]]
}

STOPPING=
stop() {
  STOPPING=yes
  say "told to stop: the container has $NOTICE seconds"
  docker stop --time "$NOTICE" "$NAME" >/dev/null 2>&1 &
}
trap stop TERM INT

RUN=$(again 60 attribute accelform-run) || { say "no run was said"; exit 1; }
HOST=$(number)
CONTAINER=$(again 60 attribute accelform-container) || { report "$FAILED"; exit 1; }
IMAGE=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["image"])' "$CONTAINER") || { report "$FAILED"; exit 1; }
GPUS=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1]).get("gpus", 0))' "$CONTAINER") || { report "$FAILED"; exit 1; }
options=()

start_docker || { say "docker does not run"; report "$FAILED"; exit 1; }
[[ $GPUS == 0 ]] || show_gpus || { say "the driver of the GPUs is not to be installed"; report "$FAILED"; exit 1; }
again 12 pull || { say "$IMAGE cannot be pulled"; report "$FAILED"; exit 1; }
devices
mapfile -d '' -t told < <(peers)
mapfile -d '' -t words < <(arguments)
for variable in "${told[@]}"; do options+=(--env "$variable"); done

docker rm --force "$NAME" >/dev/null 2>&1
# What was taken away meanwhile has nothing to do, and nothing to say.
[[ -n $STOPPING ]] && exit 1
say "host $HOST runs $IMAGE"
ended=$(mktemp)
# --privileged: the chips' devices and what their driver reads of the machine, as Google's page "Run TPU workloads in a Docker container"
# has it. --ulimit: the driver locks memory for its chips, and a user that is not root cannot raise the limit: Google's page "Use Cloud TPUs
# for inference" (Vertex AI) asks for 64 TiB. Both read 2026-11.
# --stop-timeout: docker is stopped with the machine, and gives its containers as long. gcplogs: written by the machine's own account.
{
  docker run --name "$NAME" --privileged --ulimit memlock=-1:-1 --net=host --ipc=host --stop-timeout "$NOTICE" --log-driver=gcplogs "${options[@]}" "${words[@]}"
  echo $? >"$ended"
} &
child=$!
# A trap ends `wait` before the child has ended.
while kill -0 "$child" 2>/dev/null; do wait "$child"; done
code=$(<"$ended")
# Without a code nobody knows how it ended: silence means that the machine was taken away. So does another code than those that a program
# chooses when it is told to stop: what was killed before it had saved, or had taken SIGTERM at all, has not failed.
if [[ -n $code && ! $code =~ ^(0|143)$ ]] && going; then
  say "the container ended with $code as the machine goes"
  exit 1
fi
[[ -n $code ]] && report "$code"
