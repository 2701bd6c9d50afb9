#!/usr/bin/env bash
# Unpacks ch-run of other Debian releases under a folder, one for each version, beside the one that the system has. Nothing
# is installed: each program is pointed at the libraries of its own release. Running it again fetches what is missing.
#
# usage: tests/e2e/provision_charliecloud.sh FOLDER [GLIBC]      GLIBC is a folder with a C library of 2.38 or later, where the system's is older
set -euo pipefail

folder=$1
glibc=${2:-}
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
libraries=lib/x86_64-linux-gnu
pool=pool/main

# version, path below the mirror's pool/main, checksum: as the releases' own lists of packages have them
packages="
0.21 c/charliecloud/charliecloud-runtime_0.21-1_amd64.deb d277a2baae0a961627ad5211811190d78c7ab472c38557c24f6f45769874b3ae
0.38 c/charliecloud/charliecloud-runtime_0.38-3_amd64.deb fb63cce4cd8ea05be4c3ebfe35b30e481548a9c9d4c2a9af29c800f745914bcf
0.38 f/fuse3/libfuse3-4_3.17.2-3_amd64.deb 92e2d521ff872755a13aa69dba7b24025a7dc0f0f5aa708c9a86cd3565f570da
0.38 s/squashfuse/libsquashfuse0_0.5.2-0.2+b2_amd64.deb 17eb9fbd3ea83313861df79d4801f9e077f28ec7be39bd6cb22f85bacaa138ee
0.45 c/charliecloud/charliecloud-runtime_0.45.2-1_amd64.deb d5be7a2e440ce835978be0d674b3e2ca347bec710f6488f82f467a6df7afc3f4
0.45 f/fuse3/libfuse3-4_3.18.3-1_amd64.deb 218f0fb446e2b36d7bd16c4324ce54a3755ac3ad564ab76c5fe9b6dc18718210
0.45 s/squashfuse/libsquashfuse0_0.5.2-0.3+b1_amd64.deb e0f85cdb4b8fa7b17f16e7c2955128a1f8099a078f95534985d32ebeeda046d0
0.45 c/cjson/libcjson1_1.7.19-2+b1_amd64.deb 86c15d4e7db997b4661168586781bbd12bb228892c5abd714f91954416a19706
0.45 libg/libgc/libgc1_8.2.12-1_amd64.deb b918b207e6af157c72af435957090be7d2bfb74d9e453258ab50cad1da63d8a5
"

main() {
  [ "$(dpkg --print-architecture)" = amd64 ] || { left_out "its packages are pinned for amd64 alone" && return; }
  local version
  for version in 0.21 0.38 0.45; do
    [ -x "$folder/$version/bin/ch-run" ] || unpacked "$version" || left_out "$version is not to be had"
  done
}

left_out() { echo "provision_charliecloud.sh: $1; the tests that run it are skipped" >&2; }

# A half-unpacked version has another name: what has the right one is whole.
unpacked() {
  local new=$folder/$1.new
  rm -rf "$new"
  mkdir -p "$new/fetched"
  fetched "$1" "$new/fetched" || return 1
  find "$new/fetched" -name '*.deb' -exec dpkg-deb -x {} "$new/root" \;
  mkdir "$new/bin"
  mv "$new/root/usr/bin/ch-run" "$new/bin/"
  [ ! -d "$new/root/usr/$libraries" ] || { mkdir -p "$new/lib" && mv "$new/root/usr/$libraries" "$new/$libraries"; }
  rm -rf "$new/root" "$new/fetched"
  [ "$1" = 0.21 ] || own_libraries "$new"
  [ "$(USER=root "$new/bin/ch-run" --version 2>&1 | cut -d . -f 1,2)" = "$1" ] || return 1
  mv "$new" "$folder/$1"
}

# By apt's own means, from the mirror that it is configured with, compared with the checksum.
fetched() {
  local version path sum mirror get=(/usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root download-file)
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' 'Component: main' | head -n 1)
  [ -n "$mirror" ] || return 1
  while read -r version path sum; do
    [ "$version" != "$1" ] || "${get[@]}" "$mirror$pool/$path" "$2/$(basename "$path")" "SHA256:$sum" || return 1
  done <<<"$packages"
}

# Points ch-run and the libraries that came with it at each other, and at the C library that they were built for.
own_libraries() {
  local more=${glibc:+:$glibc}:/usr/$libraries loader=("$glibc"/ld-linux-*)
  find "$1/$libraries" -type f -name '*.so*' -exec patchelf --force-rpath --set-rpath "\$ORIGIN$more" {} +
  patchelf --force-rpath --set-rpath "\$ORIGIN/../$libraries$more" "$1/bin/ch-run"
  [ -z "$glibc" ] || patchelf --set-interpreter "${loader[0]}" "$1/bin/ch-run"
}

main
