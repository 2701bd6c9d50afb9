#!/usr/bin/env bash
# Installs the real components that the end-to-end tests run against, on a Debian machine, as root: Slurm with its PBS front end and its
# accounting (slurmdbd, MariaDB), Grid Engine, MPI, Charliecloud, Apptainer, PostgreSQL, PyTorch, Chromium. Starts no daemon. Running it
# again does nothing new.
#
# usage: tests/e2e/provision.sh [PREFIX]      PREFIX is where PyTorch goes, what the release lacks (an Apptainer, other Charlieclouds),
#                                             and what cannot be installed beside the rest: Grid Engine
set -euo pipefail

prefix=${1:-/opt/modak-test}
export DEBIAN_FRONTEND=noninteractive
export PATH=/usr/sbin:/usr/bin:/sbin:/bin # Debian's own Python for Debian's tools

packages=(
  munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins # the scheduler
  slurmdbd mariadb-server mariadb-client                      # its database of accounts
  slurm-wlm-torque                                            # qsub, qstat: '#PBS' scripts
  libpmix-dev                                                 # srun --mpi=pmix looks for libpmix.so
  mpich libmpich-dev openmpi-bin libopenmpi-dev gcc libc6-dev # MPI programs that are built and run
  charliecloud busybox-static                                 # a container of two megabytes
  docker-registry openssl                                     # a registry that base images are pulled from
  squashfs-tools squashfuse fuse3 uidmap fakeroot             # what Apptainer calls
  libseccomp2 patchelf                                        # and what an Apptainer of a newer release needs here
  postgresql
  locales                                                     # the sources of a Turkish one, in which "I" is no capital of "i"
  git curl                                                    # sources of build jobs
  iproute2 libhwloc15 libtirpc3                               # the network of Grid Engine's hosts, its libraries
  python3 python3-pip                                         # PyTorch in a container
  chromium                                                    # the service's pages
)

main() {
  [ -e /etc/debian_version ] || fail "this is no Debian machine; install the components by hand, see docs/development.md"
  [ "$(id -u)" = 0 ] || fail "run as root: the components are installed system-wide"
  installed "${packages[@]}" || install_packages
  command -v apptainer >/dev/null || [ -x "$prefix/apptainer/bin/apptainer" ] || install_apptainer
  [ -d "$prefix/gridengine" ] || unpack_gridengine
  [ -d "$prefix/torch/torch" ] || install_torch
  bash "$(dirname "${BASH_SOURCE[0]}")/provision_charliecloud.sh" "$prefix/charliecloud" "$(find "$prefix" -maxdepth 1 -name glibc)"
  allow_fakeroot
}

fail() {
  echo "provision.sh: $1" >&2
  exit 1
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$@" 2>/dev/null | grep -c '^installed$')" = $# ]; }

install_packages() {
  apt-get update -q
  # policy-rc.d is asked by every maintainer script: 101 means "start nothing"
  local policy=/usr/sbin/policy-rc.d
  [ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy && trap 'rm -f /usr/sbin/policy-rc.d' EXIT; }
  apt-get install -q -y --no-install-recommends "${packages[@]}"
}

# Debian carries Apptainer in unstable alone, built for a newer C library than a stable release has. The package is
# unpacked under the prefix together with the C library it was built for, and its programs are pointed at that one.
install_apptainer() {
  if apt-cache show apptainer >/dev/null 2>&1; then
    apt-get install -q -y --no-install-recommends apptainer
    return
  fi
  local work
  work=$(mktemp -d)
  download_unstable "$work" apptainer libc6
  rm -rf "$prefix/apptainer" "$prefix/glibc"
  mkdir -p "$prefix"
  dpkg -x "$work"/apptainer_*.deb "$work/apptainer"
  dpkg -x "$work"/libc6_*.deb "$work/glibc"
  relocate "$work"
  rm -rf "$work"
  "$prefix/apptainer/bin/apptainer" --version
}

download_unstable() {
  local work=$1 mirror
  shift
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' 'Component: main' | head -n 1) # the one apt uses
  [ -n "$mirror" ] || fail "apt knows no Debian mirror; run apt-get update"
  mkdir -p "$work"/{lists,cache}/partial
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$work/sources.list"
  local options=(
    -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/lists"
    -o Dir::Cache="$work/cache" -o Dir::Etc::Preferences=- -o Dir::Etc::PreferencesParts=- -o Acquire::Languages=none
    -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root
  )
  apt-get "${options[@]}" update
  (cd "$work" && apt-get "${options[@]}" download "$@")
}

# The programs find their configuration relative to themselves: PREFIX/apptainer is what /usr is in the package.
relocate() {
  local work=$1 root=$prefix/apptainer libraries loader program
  mv "$work/apptainer/usr" "$root"
  mv "$work/apptainer/etc" "$root/etc"
  ln -sfn ../etc "$root/lib/etc"
  mkdir -p "$root/lib/var/lib/apptainer/mnt/session"
  [ -e "$root/bin/singularity" ] || ln -s apptainer "$root/bin/singularity"
  loader=$(find "$work/glibc" -name 'ld-linux-*' | head -n 1)
  mv "$(dirname "$loader")" "$prefix/glibc"
  libraries=$prefix/glibc:$(dirname "$(find /usr/lib -name libseccomp.so.2 | head -n 1)")
  for program in "$root/bin/apptainer" "$(find "$root/lib" -name starter -type f)"; do
    patchelf --set-interpreter "$prefix/glibc/$(basename "$loader")" --set-rpath "$libraries" --force-rpath "$program"
  done
  # root may lack some capability in a virtual machine or container; Apptainer would insist on handing on all of them
  sed -i 's/^root default capabilities = .*/root default capabilities = no/' "$root/etc/apptainer/apptainer.conf"
}

# Its packages and Slurm's front end for '#PBS' exclude each other: both have a qsub. The tests lay the folder over /usr where they need it.
unpack_gridengine() {
  local work package
  work=$(mktemp -d)
  [ "$(apt-cache policy gridengine-master | grep -c 'Candidate: [0-9]')" = 1 ] || apt-get update -q
  if ! (cd "$work" && apt-get -q -o APT::Sandbox::User=root download gridengine-{common,client,exec,master} libjemalloc2); then
    echo "provision.sh: this release has no Grid Engine; its tests are skipped, or fail with CI=true" >&2
    rm -rf "$work"
    return
  fi
  for package in "$work"/*.deb; do dpkg -x "$package" "$work/root"; done
  mkdir -p "$prefix"
  mv "$work/root" "$prefix/gridengine"
  rm -rf "$work"
}

# For Debian's own Python, whose files go into the same image; without CUDA. One training step is taken, so that what it
# imports is compiled: images are read-only, and each process in one would compile it anew.
install_torch() {
  local torch=torch==2.13.0+cpu index=https://download.pytorch.org/whl/cpu
  local install=(python3 -m pip install --quiet --root-user-action=ignore --no-compile --target "$prefix/torch.new")
  rm -rf "$prefix/torch.new"
  if ! "${install[@]}" "$torch" && ! "${install[@]}" --extra-index-url "$index" "$torch"; then
    echo "provision.sh: no index within reach has PyTorch without CUDA; the tests that train with it are skipped" >&2
    return
  fi
  local import='import torch, torch.distributed.run, torch.distributed.elastic.agent.server.local_elastic_agent as _'
  local step='model = torch.nn.Linear(1, 1); model(torch.ones(1)).backward(); torch.optim.SGD(model.parameters()).step()'
  env -u PYTHONDONTWRITEBYTECODE PYTHONPATH="$prefix/torch.new" python3 -W ignore -c "$import; $step"
  mv "$prefix/torch.new" "$prefix/torch"
}

# 'apptainer build --fakeroot' maps the users of an image to numbers that are the builder's own.
allow_fakeroot() {
  local file
  for file in /etc/subuid /etc/subgid; do
    grep -qs '^root:' "$file" || echo root:100000:65536 >>"$file"
  done
}

main
