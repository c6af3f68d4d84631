# Evaluates command lines as `bash -c` does and reports the words of each command instead of running it.
#
# Requests arrive on descriptor 230 as three texts that end in NUL: the number of the line, the status that every command
# returns, the line. Reports leave on descriptor 231 as texts of one size each: number, standard input, TZ, CI, count, words.
# Every builtin and every usual name is a function that reports its words, which saves a process; every other name reaches
# command_not_found_handle.

__cairn_report() {
	builtin local n="$N" a="${TZ-unset}" b="${CI-unset}" input= IFS=
	builtin local -a w
	w=("$@")
	w=("${w[@]//$'\1'/$'\1a'}")
	w=("${w[@]//$'\n'/$'\1b'}")
	builtin read -r -d '' input
	a=${a//$'\n'/$'\1b'} b=${b//$'\n'/$'\1b'} input=${input//$'\n'/$'\1b'}
	builtin printf '%s\0' "$n" "$input" "$a" "$b" "$#" "${w[@]}" >&231
	builtin printf o
	builtin printf e >&2
	builtin return "$S"
} 2>/dev/null

command_not_found_handle() { __cairn_report "$@"; }

builtin mapfile -t __cairn_names < <(builtin compgen -b)
for name in "${__cairn_names[@]}" a b c c-d c_1 ls git cat grep go npm cargo make sort wc head find sed awk docker; do
	if [[ $name != builtin ]]; then builtin eval "$name() { __cairn_report $name \"\$@\"; }"; fi
done
builtin unset name __cairn_names
builtin ulimit -c 0 -f 1024
x='a b' y='*' e='' z=-n

while IFS= builtin read -r -d '' -u 230 N && IFS= builtin read -r -d '' -u 230 S && IFS= builtin read -r -d '' -u 230 L; do
	(
		builtin exec 230<&-
		builtin trap 'builtin wait' EXIT
		builtin eval -- "$L"
	) </dev/null >/dev/null 2>/dev/null
	builtin printf 'end\0' >&231
done
