#!/bin/sh
# Installs cairn for this user, or again over an installed version:
#
#   sh install.sh [--prefix DIRECTORY] [--version VERSION] [--check | --upgrade | --uninstall]
#
# It downloads the archive of this system, compares it with SHA256SUMS, checks the signature of SHA256SUMS if this file
# came with the keys of a release and ssh-keygen is installed, runs the new program once, and only then replaces
# anything: what can fail comes before, and the renames are the end. Sessions and configuration are never touched. An
# installed cairn has a copy of this file, lib/cairn/install.sh, which cairn upgrade runs.
#
# CAIRN_INSTALL_URL is the address of the folder with SHA256SUMS, if it is not a release on GitHub. It is recorded for
# cairn upgrade, and so must not have a password.
set -eu
umask 022

# The public keys that sign releases, in the format of ssh-keygen's allowed signers. The release fills them in.
release_keys=''

releases=https://github.com/cairn-dev/cairn/releases

fail() {
	printf 'install.sh: %s\n' "$*" >&2
	exit 1
}

usage() {
	cat <<'END'
usage: sh install.sh [--prefix DIRECTORY] [--version VERSION] [--check | --upgrade | --uninstall]

  --prefix DIRECTORY   install to DIRECTORY/bin, DIRECTORY/share and DIRECTORY/lib/cairn (default ~/.local)
  --version VERSION    install this version (default: the newest)
  --check              say which version would be installed, and change nothing
  --upgrade            do nothing if that version is installed; install an older one only with --version
  --uninstall          remove what an earlier run installed; sessions and configuration stay
END
}

# The installed files, below the prefix, with their names in the archive; lib/cairn/install says for cairn upgrade and
# --uninstall how cairn came here, and comes first. The program comes last: once it is in its place, the new version is
# installed.
list_files() {
	cat <<'END'
lib/cairn/install marker
lib/cairn/install.sh install.sh
lib/cairn/LICENSE LICENSE
lib/cairn/THIRD-PARTY-LICENSES THIRD-PARTY-LICENSES
share/man/man1/cairn.1 man/man1/cairn.1
share/bash-completion/completions/cairn completions/cairn.bash
share/zsh/site-functions/_cairn completions/_cairn
share/fish/vendor_completions.d/cairn.fish completions/cairn.fish
bin/cairn cairn
END
}

# find_system prints the system and processor in the names of the archives.
find_system() {
	case $(uname -s) in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	*) fail "there is no archive for $(uname -s); see docs/install.md for other ways" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) echo "${system}_amd64" ;;
	aarch64 | arm64) echo "${system}_arm64" ;;
	*) fail "there is no archive for the processor $(uname -m); build cairn from source" ;;
	esac
}

# download URL FILE fails if the answer is not complete.
download() {
	if command -v curl >/dev/null 2>&1; then
		case $1 in https:*) next='=https' ;; *) next='=http,https' ;; esac # of redirections
		curl -fsSL --connect-timeout 30 --speed-limit 1024 --speed-time 60 --proto-redir "$next" -o "$2" "$1"
	elif command -v wget >/dev/null 2>&1; then
		wget -q -t 2 -O "$2" "$1" # -T crashes some builds of busybox; without it, it waits 900 s for more
	else
		fail "curl or wget is needed to download; install one of them"
	fi
}

hash_file() {
	if command -v sha256sum >/dev/null 2>&1; then
		sum=sha256sum
	elif command -v shasum >/dev/null 2>&1; then
		sum='shasum -a 256'
	elif command -v openssl >/dev/null 2>&1; then
		sum='openssl dgst -sha256 -r'
	else
		fail "sha256sum, shasum or openssl is needed to check the download; install one of them"
	fi
	$sum <"$1" | cut -d' ' -f1
}

# is_older VERSION THAN compares the three numbers of versions.
is_older() {
	printf '%s\n%s\n' "$1" "$2" | tr .- '  ' | awk '
		NR == 1 { for (i = 1; i <= 3; i++) first[i] = $i }
		NR == 2 { for (i = 1; i <= 3; i++) if (first[i] + 0 != $i + 0) exit !(first[i] + 0 < $i + 0) }
		END { if (i > 3) exit 1 }'
}

# check_signature checks SHA256SUMS in the working directory and sets "signed" to what is to be said of it. With keys a
# missing signature is refused like a wrong one, else leaving it out would be enough to get around the check.
check_signature() {
	if [ -z "$release_keys" ]; then
		signed="the signature was not checked: this install.sh has no keys of a release"
		return
	fi
	if ! command -v ssh-keygen >/dev/null 2>&1; then
		signed="the signature was not checked: ssh-keygen is not installed"
		return
	fi
	download "$url/SHA256SUMS.sig" SHA256SUMS.sig || fail "$url has no signature, SHA256SUMS.sig; nothing was installed"
	printf '%s\n' "$release_keys" >allowed_signers
	ssh-keygen -Y verify -f allowed_signers -I releases@cairn-dev -n cairn-release -s SHA256SUMS.sig \
		<SHA256SUMS >signature.out 2>&1 ||
		fail "the signature of $url/SHA256SUMS is not right: $(tail -n 1 signature.out); nothing was installed"
	signed="the signature is right"
}

# fetch_sums downloads and checks SHA256SUMS into the working directory, and sets "archive" to the name of this system's
# archive, "want" to its hash and "version" to its version.
fetch_sums() {
	suffix=$(find_system).tar.gz
	download "$url/SHA256SUMS" SHA256SUMS || fail "$url/SHA256SUMS cannot be downloaded; nothing was installed"
	check_signature
	# One line of SHA256SUMS is this system's: the hash, two blanks, the name.
	line=$(grep "^[0-9a-f]\{64\}  cairn_[0-9A-Za-z.-]*_$suffix\$" SHA256SUMS) || line=
	case $(printf '%s\n' "$line" | grep -c .) in
	1) ;;
	0) fail "$url/SHA256SUMS names no archive for $suffix; nothing was installed" ;;
	*) fail "$url/SHA256SUMS names more than one archive for $suffix; nothing was installed" ;;
	esac
	want=${line%% *}
	archive=${line##* }
	version=${archive#cairn_}
	version=${version%"_$suffix"}
	[ -z "$wanted" ] || [ "$wanted" = "$version" ] || fail "$url has version $version, not $wanted; nothing was installed"
}

# fetch_archive downloads, checks and unpacks the archive into the working directory.
fetch_archive() {
	download "$url/$archive" "$archive" || fail "$url/$archive cannot be downloaded; nothing was installed"
	have=$(hash_file "$archive") || exit 1
	[ "$have" = "$want" ] ||
		fail "$archive is damaged: its SHA-256 is $have, SHA256SUMS says $want; nothing was installed"
	tar -xzf "$archive" || fail "$archive cannot be unpacked; nothing was installed"
}

# remove_staged removes the files that were not put in their places.
remove_staged() {
	[ -z "$work" ] || rm -rf "$work"
	[ -z "$prefix" ] || list_files | while read -r path _; do
		rm -f "$prefix/$(dirname "$path")/.${path##*/}.$$"
	done
}

# install_files copies beside the places first and renames when all copies are there and the program has run.
install_files() {
	from=$work/${archive%.tar.gz}
	printf 'installer=install.sh\nversion=%s\nurl=%s\n' "$version" "${CAIRN_INSTALL_URL:-}" >"$from/marker"
	list_files | while read -r path name; do
		mkdir -p "$prefix/$(dirname "$path")" &&
			cp "$from/$name" "$prefix/$(dirname "$path")/.${path##*/}.$$" || exit 1
	done || fail "$prefix cannot be written to; nothing was installed. --prefix names another directory"
	staged=$prefix/bin/.cairn.$$
	chmod 755 "$staged"
	says=$("$staged" --version 2>&1) || fail "the new program does not run here ($says); nothing was installed"
	case $says in
	"cairn $version" | "cairn $version "*) ;;
	*) fail "the new program says it is \"$says\", not cairn $version; nothing was installed" ;;
	esac
	list_files | while read -r path _; do
		mv -f "$prefix/$(dirname "$path")/.${path##*/}.$$" "$prefix/$path" || exit 1
	done || fail "not all files could be put in their places below $prefix; run this again"
}

uninstall() {
	[ -f "$prefix/lib/cairn/install" ] ||
		fail "$prefix has no cairn that install.sh installed; --prefix names another directory"
	unit=${XDG_CONFIG_HOME:-${HOME:-}/.config}/systemd/user/cairn.service
	agent=${HOME:-}/Library/LaunchAgents/dev.cairn.serve.plist
	if grep -qF "$prefix/bin/cairn" "$unit" "$agent" 2>/dev/null; then
		fail "a service starts $prefix/bin/cairn; run cairn service remove first"
	fi
	list_files | while read -r path _; do
		rm -f "$prefix/$path"
	done
	rmdir "$prefix/lib/cairn" 2>/dev/null || true
	echo "removed cairn from $prefix; sessions, keys and configuration stay (docs/manual.md, Update and removal)"
}

main() {
	prefix='' work='' wanted='' action=install
	while [ $# -gt 0 ]; do
		case $1 in
		--prefix | --version)
			[ $# -ge 2 ] && [ -n "$2" ] || fail "$1 needs a value"
			if [ "$1" = --prefix ]; then prefix=$2; else wanted=${2#v}; fi
			shift
			;;
		--check | --upgrade | --uninstall) action=${1#--} ;;
		-h | --help)
			usage
			exit 0
			;;
		*) fail "unknown argument $1; sh install.sh --help lists them" ;;
		esac
		shift
	done
	: "${prefix:=${HOME:?HOME is not set, and no --prefix is given}/.local}"
	case $prefix in
	/*) ;;
	*) prefix=$PWD/$prefix ;;
	esac
	if [ -L "$prefix/bin/cairn" ]; then
		fail "$prefix/bin/cairn is a link, which another program made; remove it first, or choose another --prefix"
	fi
	if [ $action = uninstall ]; then
		uninstall
		return
	fi
	if [ -n "${CAIRN_INSTALL_URL:-}" ]; then
		url=${CAIRN_INSTALL_URL%/}
	elif [ -n "$wanted" ]; then
		url=$releases/download/v$wanted
	else
		url=$releases/latest/download
	fi
	case $url in
	*://*@*) fail "the address of the release has a user or a password, and would be recorded; give it without" ;;
	esac
	trap remove_staged EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	work=$(mktemp -d)
	cd "$work"
	fetch_sums
	before=
	[ ! -x "$prefix/bin/cairn" ] || before=$("$prefix/bin/cairn" --version 2>/dev/null) || before="an older cairn"
	case $action:$before in
	check:*)
		echo "the version to install is $version; installed is ${before:-none}"
		return
		;;
	upgrade:"cairn $version" | upgrade:"cairn $version "*)
		echo "cairn $version is installed already; nothing was done"
		return
		;;
	upgrade:"cairn "[0-9]*)
		installed=${before#cairn }
		if [ -z "$wanted" ] && is_older "$version" "${installed%% *}"; then
			fail "$url has $version, which is older than $installed; --version $version installs it"
		fi
		;;
	esac
	fetch_archive
	install_files
	echo "installed cairn $version in $prefix/bin/cairn${before:+ (before: $before)}"
	echo "checked: the SHA-256 of $archive is right; $signed"
	case :${PATH:-}: in
	*:"$prefix/bin":*) ;;
	*) echo "$prefix/bin is not in PATH; add to your shell's profile: export PATH=\"$prefix/bin:\$PATH\"" ;;
	esac
	[ -z "$before" ] || [ $action = upgrade ] ||
		echo "a cairn that is running goes on with its version until it ends; cairn doctor names its process"
}

# The last line, in braces: a copy of this file that was cut off does nothing.
{ main "$@"; }
