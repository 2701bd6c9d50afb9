#!/bin/sh
# Installs MODAK from this folder, without any network, into a virtual environment of its own.
#
# usage: sh install.sh FOLDER [PYTHON]      FOLDER is made, or brought up to date; PYTHON is the interpreter that the bundle was packed
#                                           with, python3 by default
set -eu

[ $# -ge 1 ] || { echo "usage: sh install.sh FOLDER [PYTHON]" >&2; exit 2; }
folder=$1
python=${2:-python3}
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac

umask 022 # root's own may keep out those who run MODAK
cd "$(dirname "$0")"
sha256sum --check --quiet SHA256SUMS
"$python" -m venv "$folder"
# Without --force-reinstall pip leaves an installed package of the same version number as it is, and says nothing. It compiles them, because
# those who run MODAK may not write here: each start would compile everything again.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall wheels/*.whl
"$folder/bin/modak" --version
echo "installed: $folder/bin/modak"
