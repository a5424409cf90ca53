# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What a test script prints for the one runner (tests/lib/cases.py, tap.h): a line for each case,
# and the plan at the end.
tap_cases=0 tap_failed=0 tap_logs=

# tap_case STATUS NAME [WHAT]: one case has ended; what was seen belongs to it.
tap_case() {
	tap_cases=$((tap_cases + 1))
	[ -z "${3-}" ] || printf '%s\n' "$3" | tap_comment
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_cases - $2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_cases - $2"
	fi
}

# tap_comment: the output of another program, which may print TAP itself.
tap_comment() {
	sed 's/^/# /'
}

# tap_command NAME COMMAND...: runs it in this shell; the end of its output is seen if it fails. The
# whole is kept in $tap_logs/NAME.log, if that is set.
tap_command() {
	# The command sees these variables, hence the names.
	local tap_name=$1 tap_status=0 tap_output
	shift
	if [ -n "$tap_logs" ]; then
		mkdir -p "$tap_logs"
		tap_output=$tap_logs/${tap_name//[^[:alnum:]-]/_}.log
	else
		tap_output=$(mktemp)
	fi
	"$@" >"$tap_output" 2>&1 || tap_status=$?
	if [ $tap_status -eq 0 ]; then
		tap_case 0 "$tap_name"
	else
		tap_case 1 "$tap_name" "$(tail -20 "$tap_output")"
	fi
	[ -n "$tap_logs" ] || rm -f "$tap_output"
}

# tap_skip REASON: the whole script is skipped.
tap_skip() {
	echo "$1"
	exit 77
}

# tap_end: the plan; ends the script.
tap_end() {
	echo "1..$tap_cases"
	[ "$tap_failed" -eq 0 ] && [ "$tap_cases" -gt 0 ]
	exit
}
