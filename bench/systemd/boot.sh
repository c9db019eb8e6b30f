#!/usr/bin/env bash
# Becomes systemd as process 1, in namespaces of its own, over a layer on top of a root file system: nothing of the
# machine is changed, no unit of it is started. bin/systemd calls it with the root, an empty folder, and a folder to
# show inside as /opt/try.
set -euo pipefail
lower=$1 base=$2 shown=$3
mount --make-rprivate /
mount -t tmpfs tmpfs "$base"
mkdir -p "$base"/{upper,work,root,cgroup}
root=$base/root
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$base/upper,workdir=$base/work" "$root"
# A control group of its own is the root of what systemd sees.
mount -t cgroup2 cgroup2 "$base/cgroup"
mkdir -p "$base/cgroup/foolsgold-try-$$"
echo $$ >"$base/cgroup/foolsgold-try-$$/cgroup.procs"

mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
chmod 1777 "$root/tmp"
mount --rbind /dev "$root/dev"
mkdir -p "$root/opt/try"
mount --bind "$shown" "$root/opt/try"

# Of the machine's own units only the journal is started.
units=$root/etc/systemd/system
rm -rf "$units"/*.wants "$root/etc/fstab"
for wants in sysinit sockets timers local-fs multi-user; do
  for unit in "$root"/usr/lib/systemd/system/"$wants".target.wants/*; do
    case $unit in *journald* | *'*') ;; *) ln -sf /dev/null "$units/$(basename "$unit")" ;; esac
  done
done
printf '[Unit]\nRequires=basic.target\nAfter=basic.target\n' >"$units/try.target"
# shellcheck disable=SC2016
exec unshare --pid --fork --kill-child --ipc --uts --cgroup --net --mount bash -c '
  set -e
  mount -t proc proc "$1/proc"
  mount -t sysfs sysfs "$1/sys"
  mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
  cd "$1"
  mkdir -p old
  pivot_root . old
  umount -l /old
  exec env -i container=try PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/lib/systemd/systemd --system --unit=try.target \
    --log-target=console --show-status=no' bash "$root"
