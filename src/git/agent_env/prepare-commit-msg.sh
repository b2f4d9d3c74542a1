#!/bin/sh
# Adds the trailer "Task-Id" to the message of every commit that an agent makes, once.
# $1 is the file with the message. Never fails: a commit without the trailer is better than none.

[ -n "$MXD_TASK" ] && [ -f "$1" ] || exit 0

# A message without a word is how a commit is called off; a trailer would make it a message.
[ -n "$(git stripspace --strip-comments <"$1" 2>/dev/null)" ] || exit 0

# A line of hyphens in a message is no divider here. A commit of another task that is taken over keeps its trailer.
# The settings of the repository are left out (there is none in /dev/null): a "trailer.*.command" among them would run.
GIT_DIR=/dev/null git interpret-trailers --in-place --no-divider --if-exists doNothing --trailer "Task-Id: $MXD_TASK" "$1" 2>/dev/null
exit 0
